"""What is tried out on a driver, and how often."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.csi.requests import Mode


def _calls(csi: Any, rpc: str) -> int:
    return sum(entry.rpc == rpc for entry in csi.journal.entries)


def test_a_mode_is_tried_once_and_leaves_no_volume(opened: Any) -> None:
    """A trial costs two calls on a real back end."""
    csi = opened(csi__testvolumesize=1 << 26)
    for _ in range(3):
        assert csi.preconditions.makes(Mode.MULTI_NODE_MULTI_WRITER)
    assert (_calls(csi, "CreateVolume"), _calls(csi, "DeleteVolume")) == (1, 1)
    assert csi.preconditions.makes(Mode.MULTI_NODE_MULTI_WRITER, block=True)
    assert _calls(csi, "CreateVolume") == 2
    assert not csi.fake.state.tables.volumes


def test_a_driver_without_create_makes_what_the_user_has(opened: Any) -> None:
    """The one volume there is, of the mode and type that were chosen."""
    preconditions = opened("fake:node-only").preconditions
    assert preconditions.makes()
    assert not preconditions.makes(block=True)
    assert not preconditions.makes(Mode.MULTI_NODE_MULTI_WRITER)
    assert preconditions.place == (preconditions.capabilities.topology or {})


def test_how_a_volume_is_published_is_seen_on_one_of_its_own(csi: Any) -> None:
    """What the case has made before is left alone."""
    volume = csi.steps.volume()
    how, _ = csi.preconditions.published
    assert how in ("mount", "link", "plain")
    assert list(csi.fake.state.tables.volumes) == [volume.volume_id]
    assert csi.preconditions.published[0] == how
    assert _calls(csi, "NodePublishVolume") == 1


def test_the_usual_size_is_the_smallest_that_the_driver_makes(opened: Any) -> None:
    """Tried out, as no RPC has to tell; once, and nothing is left of it."""
    csi = opened()
    assert csi.sizes.usual == csi.requests.size == 64 << 20
    assert csi.requests.volume().capacity_range.required_bytes == 64 << 20
    assert _calls(csi, "CreateVolume") == _calls(csi, "DeleteVolume") == 1


def test_two_nodes_of_our_fake_share_volumes(csi: Any) -> None:
    """Unless only the id of another one is known, which counts as near."""
    second = csi.preconditions.other_node_id
    assert second not in ("", csi.capabilities.node_id)
    assert csi.preconditions.near_node_id == second


@pytest.mark.parametrize("id", ["", "node-7"])
def test_a_second_node_may_be_known_by_its_id_alone(csi: Any, id: str) -> None:
    """Its place cannot be asked for."""
    csi.settings.other_node_id = id
    assert csi.preconditions.other_node_id == (id or csi.preconditions.near_node_id)
    assert csi.preconditions.near_node_id == csi.preconditions.other_node_id
