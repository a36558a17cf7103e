"""refimpl.csi.state.node.second_publish: the table of the second NodePublishVolume."""

from __future__ import annotations

import attrs
import pytest

from refimpl.csi.state.models import AccessMode, Publication, VolumeCapability
from refimpl.csi.state.node.second_publish import SECOND_PUBLISH, first_or_repeat
from refimpl.wire.status import Code, Refused

SHARED = {
    AccessMode.MULTI_NODE_READER_ONLY,
    AccessMode.MULTI_NODE_SINGLE_WRITER,
    AccessMode.MULTI_NODE_MULTI_WRITER,
    AccessMode.SINGLE_NODE_MULTI_WRITER,
}
MODES = [mode for mode in AccessMode if mode]


def publication(mode: AccessMode, target: str = "/t", **arguments: bool) -> Publication:
    """One publication of volume v on node n."""
    return Publication("v", "n", target, VolumeCapability("mount", mode), **arguments)


def code(existing: list[Publication], new: Publication) -> Code:
    """What a call gets."""
    try:
        first_or_repeat(existing, new)
    except Refused as refused:
        return refused.code
    return Code.OK


def test_every_mode_has_its_row() -> None:
    """A mode of the wire that the table forgot would crash the call."""
    assert set(SECOND_PUBLISH) == set(MODES)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_the_same_call_again_is_a_repeat(mode: AccessMode) -> None:
    """T=, P=: OK in all modes."""
    assert first_or_repeat([publication(mode)], publication(mode))


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_the_first_call_is_none(mode: AccessMode) -> None:
    """Nothing known, nothing to compare with."""
    assert not first_or_repeat([], publication(mode))


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_other_arguments_at_the_same_target_exist_already(mode: AccessMode) -> None:
    """T=, P!=: ALREADY_EXISTS in all modes."""
    assert code([publication(mode)], publication(mode, readonly=True)) == Code.ALREADY_EXISTS


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("readonly", [False, True])
def test_another_target_depends_on_the_mode(mode: AccessMode, readonly: bool) -> None:
    """T!=: OK where the mode shares, else FAILED_PRECONDITION, whatever P is."""
    expected = Code.OK if mode in SHARED else Code.FAILED_PRECONDITION
    new = publication(mode, "/other", readonly=readonly)
    assert code([publication(mode)], new) == expected


@pytest.mark.parametrize("old", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("new", MODES, ids=lambda mode: mode.name)
def test_where_modes_differ_both_must_share(old: AccessMode, new: AccessMode) -> None:
    """A workload that was promised to be alone stays alone."""
    expected = Code.OK if {old, new} <= SHARED else Code.FAILED_PRECONDITION
    assert code([publication(old)], publication(new, "/other")) == expected


def test_a_repeat_is_found_among_many() -> None:
    """The same target may be any of those known."""
    mode = AccessMode.MULTI_NODE_MULTI_WRITER
    existing = [publication(mode, f"/{number}") for number in range(3)]
    assert first_or_repeat(existing, publication(mode, "/1"))
    assert not first_or_repeat(existing, publication(mode, "/3"))


def test_the_staging_path_is_an_argument() -> None:
    """P is everything but the secrets, as far as the driver looks at it."""
    old = publication(AccessMode.MULTI_NODE_MULTI_WRITER)
    assert code([old], attrs.evolve(old, staging="/other")) == Code.ALREADY_EXISTS


def test_the_target_itself_is_looked_at_before_the_others() -> None:
    """So that the answer does not depend on the order of what is known."""
    shared, alone = AccessMode.MULTI_NODE_MULTI_WRITER, AccessMode.SINGLE_NODE_WRITER
    existing = [publication(shared, target) for target in ("/a", "/b", "/c")]
    assert code(existing, publication(alone, "/b")) == Code.ALREADY_EXISTS


def test_the_context_is_no_argument() -> None:
    """Fresh tokens come to the same target (Kubernetes, requiresRepublish)."""
    old = publication(AccessMode.SINGLE_NODE_WRITER)
    assert first_or_repeat([attrs.evolve(old, context={"token": "1"})], old)
