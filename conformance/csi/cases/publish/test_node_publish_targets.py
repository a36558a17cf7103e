"""NodePublishVolume at several targets of one node, mode by mode; what each of them shows."""

from __future__ import annotations

from functools import partial

import pytest

from conformance.csi.common import content
from conformance.csi.common.published import at_another_target, changed, publish
from conformance.csi.needs import (
    DATA,
    NODE,
    NODE_SINGLE_NODE_MULTI_WRITER,
    ONE_WRITER,
    SAME_HOST,
    SHARING,
    SINGLE_NODE_MULTI_WRITER,
    SINGLE_NODE_WRITER,
    VOLUMES,
    WRITERS,
)
from conformance.csi.requests import Mode
from conformance.csi.steps import Mounted
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect_status, together
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 NodePublishVolume"
_TARGETS = 3
_MULTI_NODE = (
    Mode.MULTI_NODE_READER_ONLY,
    Mode.MULTI_NODE_SINGLE_WRITER,
    Mode.MULTI_NODE_MULTI_WRITER,
)
_FINER = (SINGLE_NODE_MULTI_WRITER, NODE_SINGLE_NODE_MULTI_WRITER)


def _expect_one_target(csi: CsiTarget, mode: Mode.Mode.ValueType) -> None:
    mounted = csi.steps.mount(capability=csi.requests.capability(mode))
    with together() as check:
        for readonly in (False, True):
            with check:
                second = changed(mounted, target_path=csi.steps.target_path(), readonly=readonly)
                expect_status(
                    partial(csi.node.NodePublishVolume, second.request),
                    {Code.FAILED_PRECONDITION},
                    f"a volume published as {Mode.Mode.Name(mode)} is not published at a second"
                    f" target with {'other' if readonly else 'the same'} arguments",
                )


def _expect_many_targets(csi: CsiTarget, mode: Mode.Mode.ValueType, *flags: bool) -> None:
    mounted = csi.steps.ready(capability=csi.requests.capability(mode))
    for number in range(_TARGETS):
        readonly = flags[number % len(flags)]
        another = changed(mounted, target_path=csi.steps.target_path(), readonly=readonly)
        expect_status(
            partial(csi.node.NodePublishVolume, another.request),
            {Code.OK},
            f"a volume published as {Mode.Mode.Name(mode)} at {number} targets is published at one"
            f" more, with readonly = {readonly}",
        )


@case("CSI-NPUB-010", _SOURCE, needs=[NODE, VOLUMES, SAME_HOST, SINGLE_NODE_WRITER])
def test_a_volume_for_one_writer_is_published_once_on_a_node(csi: CsiTarget) -> None:
    """Two pods that each believe to be the only writer ruin each other's files."""
    _expect_one_target(csi, Mode.SINGLE_NODE_WRITER)


@case("CSI-NPUB-011", _SOURCE, needs=[NODE, SAME_HOST, *_FINER, ONE_WRITER])
def test_a_volume_for_a_single_writer_is_published_once_on_a_node(csi: CsiTarget) -> None:
    """ReadWriteOncePod is this mode: the claim's promise of one pod hangs on the refusal."""
    _expect_one_target(csi, Mode.SINGLE_NODE_SINGLE_WRITER)


@case("CSI-NPUB-012", _SOURCE, needs=[NODE, SAME_HOST, *_FINER, WRITERS])
def test_a_volume_for_several_writers_is_published_for_each(csi: CsiTarget) -> None:
    """ReadWriteOnce is this mode: pods of one claim that land on one node all have to start."""
    _expect_many_targets(csi, Mode.SINGLE_NODE_MULTI_WRITER, False)


@case("CSI-NPUB-013", _SOURCE, needs=[NODE, VOLUMES, SAME_HOST])
def test_a_volume_for_several_nodes_is_published_for_several_pods_of_one(csi: CsiTarget) -> None:
    """A shared claim is there for many pods, and some of them land on one node. Writers and
    readers mix, but for the mode that knows readers only."""
    modes = [mode for mode in _MULTI_NODE if csi.preconditions.makes(mode)]
    if not modes:
        pytest.skip("the driver makes no volumes for several nodes")
    with together() as check:
        for mode in modes:
            with check:
                flags = (True,) if mode == Mode.MULTI_NODE_READER_ONLY else (False, True)
                _expect_many_targets(csi, mode, *flags)


@case("CSI-NPUB-024", _SOURCE, needs=[NODE, VOLUMES, DATA])
def test_what_was_written_is_there_at_the_next_publish(csi: CsiTarget) -> None:
    """A pod that moves or restarts has to find its files again, at whatever path. Where a volume
    can be at two targets at once, both show the same."""
    shared = csi.preconditions.sharing_mode()
    mounted = csi.steps.mount(capability=csi.requests.capability(shared or None))
    written = _write(mounted)
    csi.steps.unmount(mounted)
    publish(csi, mounted)
    content.expect_content(mounted, written, "what was written is there after the next publish")
    if not shared:
        csi.steps.unmount(mounted)
    second = at_another_target(csi, mounted)
    rule = f"what was written is there at {'a second' if shared else 'another'} target"
    content.expect_content(second, written, rule)
    if shared:
        written = _write(second)
        content.expect_content(
            mounted, written, "what is written at one target is seen at the other"
        )


@case("CSI-NUNP-008", "CSI 1.13 NodeUnpublishVolume", needs=[NODE, SHARING, DATA])
def test_the_end_of_one_publication_leaves_the_other(csi: CsiTarget) -> None:
    """One pod of a shared claim ends; the others must not lose their files under their feet."""
    mounted = csi.steps.mount(capability=csi.requests.capability(csi.preconditions.sharing_mode()))
    second = at_another_target(csi, mounted)
    written = _write(mounted)
    csi.steps.unmount(mounted)
    rule = "after one of two targets was unpublished, the other still shows the volume"
    content.expect_content(second, written, rule)
    _write(second)


def _write(mounted: Mounted) -> bytes:
    """Writes something new to the volume, which must be possible."""
    written = content.fresh()
    content.write(mounted, written)
    return written
