"""What a case needs, and the reason given where that is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.csi import features, needs
from conformance.csi.capabilities import Capabilities
from conformance.engine.needs import Feature
from conformance.engine.targets.revision import Revision

FEATURES = {name: need for name, need in vars(needs).items() if isinstance(need, Feature)}


@pytest.fixture
def target(stub: Callable[..., Any]) -> Callable[..., Any]:
    """A target that tells what it lacks by what is given, and is judged by CSI 1.12."""

    def make(*capabilities: str, **parts: Any) -> Any:
        csi = stub(*capabilities, **parts)
        csi.revision, csi.lacks = Revision("csi", "1.12"), features.lacks(csi)
        return csi

    return make


def test_a_capability_has_to_be_on_or_off(target: Any) -> None:
    """The reason names it, without its number."""
    on, off = target("controller:GET_CAPACITY"), target()
    assert needs.GET_CAPACITY.unmet(on) is None
    assert needs.GET_CAPACITY.unmet(off) == "controller capability GET_CAPACITY is off"
    absent = needs.without(needs.GET_CAPACITY)
    assert absent.unmet(off) is None
    assert absent.unmet(on) == "controller capability GET_CAPACITY is on"


def test_services_and_revisions_are_those_of_the_run(target: Any) -> None:
    """A rule of one revision is none of the other."""
    csi = target(advertised=Capabilities(services=frozenset({"node"})))
    assert needs.NODE.unmet(csi) is None
    assert needs.CONTROLLER.unmet(csi) == "no controller service"
    assert needs.REVISION_1_12.unmet(csi) is None
    assert "judges by csi-1.12" in str(needs.REVISION_1_13.unmet(csi))


def test_a_mode_is_named(target: Any) -> None:
    """In the reason and in lists of cases."""
    assert needs.WRITERS.unmet(target(makes=lambda _: True)) is None
    reason = needs.WRITERS.unmet(target(makes=lambda _: False))
    assert reason == "the driver makes no volumes for access mode SINGLE_NODE_MULTI_WRITER"
    assert str(needs.WRITERS) == "SINGLE_NODE_MULTI_WRITER"


def test_nodes_are_near_where_there_are_two(target: Any) -> None:
    """Of two reasons the first is told."""
    assert target(other_node_id="", near_node_id="").lacks["near node"].startswith("no second")
    assert target(other_node_id="b", near_node_id="").lacks["near node"].startswith("the nodes")
    assert target(other_node_id="b", near_node_id="b").lacks["near node"] == ""


@pytest.mark.parametrize(
    ("published", "reasons"),
    [
        (("mount", True), ("", "")),
        (("unknown", True), ("", "")),
        (("mount", False), ("", "may not write")),
        (("plain", True), ("no mounts", "plain directories")),
        (("nothing", False), ("no mounts", "nothing can be seen")),
    ],
)
def test_what_is_published_decides_about_mounts_and_data(
    opened: Any, published: Any, reasons: tuple[str, str]
) -> None:
    """A driver that fails to publish is not blamed here: a case says so."""
    csi = opened()
    csi.preconditions.published = published
    for name, reason in zip(("mounts", "data"), reasons, strict=True):
        assert reason in csi.lacks[name]
        assert bool(csi.lacks[name]) == bool(reason)


def test_a_feature_that_nobody_knows_is_a_fault_of_ours(target: Any) -> None:
    """A word that was mistyped must not count as there."""
    with pytest.raises(KeyError):
        target().lacks["mounds"]


@pytest.mark.parametrize("name", FEATURES)
def test_every_need_is_answered(csi: Any, name: str) -> None:
    """By a text of the target, a whole phrase where it is not empty."""
    reason = csi.lacks[FEATURES[name].name]
    assert isinstance(reason, str)
    assert FEATURES[name].unmet(csi) == (reason or None)


def test_our_fake_has_what_it_can_have(csi: Any) -> None:
    """All at once."""
    assert csi.has(needs.VOLUMES, needs.SAME_HOST, needs.BREAKABLE_ON_NODE)
    assert not csi.has(needs.VOLUMES, needs.CLOSED_RPC)
