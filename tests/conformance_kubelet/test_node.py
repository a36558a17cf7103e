"""The node that cases work with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.engine.targets.revision import Revision
from conformance.engine.verdict import Broken
from conformance.kubelet.node import NodeUnderTest
from conformance.kubelet.ours import OurKubelet
from refimpl.node.choices import KubeletChoices
from refimpl.wire.journal import Journal


@pytest.fixture
def node() -> Iterator[NodeUnderTest]:
    """A node with our kubelet."""
    client = OurKubelet()
    client.start()
    node = NodeUnderTest(client, Journal(), Revision("kubernetes", "1.37"), name="n", quiet_s=0.05)
    yield node
    node.clean_up()
    client.close()


def test_what_a_case_puts_somewhere_goes_with_it(node: NodeUnderTest) -> None:
    """Files, folders with what is in them, and what never came to be."""
    file, folder = node.own(node.plugins / "file"), node.own(node.plugins / "folder")
    node.own(node.plugins / "nothing")
    file.touch()
    (folder / "below").mkdir(parents=True)
    node.clean_up()
    assert not file.exists()
    assert not folder.exists()


def test_counts_that_do_not_come_are_told(
    node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With those that came instead."""
    plugin = node.joined("a")
    node.counted(plugin.resource, (1, 1), "one device")
    monkeypatch.setattr(node, "until", _never)
    with pytest.raises(Broken) as broken:
        node.counted(plugin.resource, (2, 1), "two devices")
    assert broken.value.got.startswith("(1, 1)")


def test_places_move_with_the_root_directory(node: NodeUnderTest) -> None:
    """But for that of device plugins (DP-KUB-075)."""
    node.configured(KubeletChoices(root="elsewhere"))
    assert node.registry == node.client.folder / "elsewhere" / "plugins_registry"
    assert node.plugins == node.client.folder / "device-plugins"
    assert node.podresources.listed() == []


def _never(_predicate: object, what: str, *_: object) -> None:
    raise Broken(what, "soon", "not yet")
