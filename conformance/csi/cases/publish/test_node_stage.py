"""NodeStageVolume: what it asks for, what it refuses, and that asking again changes nothing."""

from __future__ import annotations

import os
from functools import partial

from conformance.csi.common import foreign, lengths, mounts, staged
from conformance.csi.common.copies import access_types
from conformance.csi.common.refusals import code_of, expect_refusal
from conformance.csi.common.uses import all_modes, described, other_type
from conformance.csi.needs import (
    FILES,
    MOUNTS,
    NODE,
    NODE_ID,
    PUBLISH_UNPUBLISH_VOLUME,
    SAME_HOST,
    STAGE_UNSTAGE_VOLUME,
    VOLUMES,
)
from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 NodeStageVolume"
_NEEDS = (NODE, STAGE_UNSTAGE_VOLUME)
_VOLUME = (*_NEEDS, VOLUMES, SAME_HOST)
_REPEATS = 2
# Beside the usual mode; the first that a volume can be made for as well is used.
_OTHERS = (Mode.SINGLE_NODE_READER_ONLY, Mode.MULTI_NODE_MULTI_WRITER, Mode.MULTI_NODE_READER_ONLY)


@case("CSI-STG-001", _SOURCE, needs=_VOLUME)
def test_a_stage_without_its_fields_is_refused(csi: CsiTarget) -> None:
    """A driver that fills in what is missing mounts something, somewhere, in some way."""
    mounted = csi.shared.mount()
    request = csi.requests.stage(
        mounted.volume, csi.steps.staging_path(), publish_context=mounted.publish_context
    )
    with together() as check:
        for field in ("volume_id", "staging_target_path", "volume_capability"):
            with check:
                lacking = staged.changed(request)
                lacking.ClearField(field)
                expect_status(
                    partial(csi.node.NodeStageVolume, lacking),
                    {Code.INVALID_ARGUMENT},
                    f"NodeStageVolume without {field} is refused",
                )


@case("CSI-STG-002", _SOURCE, needs=_VOLUME)
def test_a_volume_that_does_not_exist_is_not_staged(csi: CsiTarget) -> None:
    """An OK leads to a pod that writes to the disk of the node. Everything but the id is that of a
    volume which exists, so that there is no other reason to refuse it."""
    mounted = csi.shared.mount()
    request = csi.requests.stage(
        mounted.volume, csi.steps.staging_path(), publish_context=mounted.publish_context
    )
    request.volume_id = csi.requests.unknown_volume_id()
    expect_status(
        lambda: csi.node.NodeStageVolume(request),
        {Code.NOT_FOUND},
        "NodeStageVolume of a volume that does not exist is refused",
    )


@case("CSI-STG-003", _SOURCE, needs=_VOLUME)
def test_a_repeated_stage_changes_nothing(csi: CsiTarget) -> None:
    """Kubelet stages again after each of its restarts. Mounts that pile up keep the volume in use
    after the one unstage that follows."""
    mounted = csi.shared.mount()
    request = csi.requests.stage(
        mounted.volume, mounted.staging_path, publish_context=mounted.publish_context
    )
    for number in range(_REPEATS):
        expect_status(
            lambda: csi.node.NodeStageVolume(request),
            {Code.OK},
            f"the same NodeStageVolume is done the {number + 2}. time",
        )
    if csi.has(MOUNTS):
        seen = mounts.layers(request.staging_target_path)
        rule = f"the same NodeStageVolume, sent {_REPEATS + 1} times, makes one mount at most"
        expect(seen <= 1, rule, wanted="0 or 1", got=seen)


@case("CSI-STG-004", _SOURCE, needs=_VOLUME)
def test_a_staged_volume_does_not_change_its_use(csi: CsiTarget) -> None:
    """An OK would promise a use that the mount was not made for.

    The other access type may also be refused as none that this volume has (CSI-STG-006)."""
    usual = csi.requests.capability()
    mode = usual.access_mode.mode
    known = [other for other in _OTHERS if other in all_modes(csi) and other != mode]
    also = next((other for other in known if csi.preconditions.makes(mode, other)), None)
    made_for = [usual] if also is None else [usual, csi.requests.capability(also)]
    request = staged.ready(csi, csi.steps.volume(csi.requests.volume(capabilities=made_for)))
    csi.node.NodeStageVolume(request)
    with together() as check:
        for other in [*made_for[1:], other_type(csi)]:
            with check:
                wrong_type = other.WhichOneof("access_type") != usual.WhichOneof("access_type")
                second = staged.changed(request, volume_capability=other)
                expect_status(
                    partial(csi.node.NodeStageVolume, second),
                    {Code.ALREADY_EXISTS} | ({Code.FAILED_PRECONDITION} if wrong_type else set()),
                    f"a volume staged as {described(usual)} is not staged at the same path as"
                    f" {described(other)}",
                )


@case("CSI-STG-005", "robustness: a second staging path", needs=_VOLUME)
def test_a_second_staging_path_does_no_harm(csi: CsiTarget) -> None:
    """A file system that is mounted twice as two is destroyed by the second writer. The second path
    is refused, or leads to the same volume, and the first goes on as it was."""
    first = staged.ready(csi)
    csi.node.NodeStageVolume(first)
    second = staged.changed(first, staging_target_path=csi.steps.staging_path())
    reply = expect_status(
        lambda: csi.node.NodeStageVolume(second),
        {Code.OK, Code.ALREADY_EXISTS, Code.FAILED_PRECONDITION},
        "a volume that is staged is staged at a second path, or that is refused",
    )
    if reply is not None:
        csi.node.NodeUnstageVolume(staged.back(second))
    expect_status(
        lambda: csi.node.NodePublishVolume(staged.publish_request(csi, first)),
        {Code.OK},
        "a volume can still be published from its first staging path after a second was tried",
    )


@case("CSI-STG-006", _SOURCE, needs=_VOLUME)
def test_a_volume_is_not_staged_as_the_other_access_type(csi: CsiTarget) -> None:
    """What is staged as a file system is formatted on the way: the database on the raw device is
    gone then."""
    with together() as check:
        for block in access_types(csi):
            with check:
                other = csi.requests.capability(block=not block)
                request = staged.changed(_of_type(csi, block), volume_capability=other)
                expect_status(
                    partial(csi.node.NodeStageVolume, request),
                    {Code.FAILED_PRECONDITION},
                    f"a volume for {'block' if block else 'mount'} is not staged as"
                    f" {described(other)}",
                )


@case("CSI-STG-007", "robustness: wrong staging paths", needs=[*_NEEDS, VOLUMES, FILES])
def test_a_staging_path_that_is_no_directory_is_refused(csi: CsiTarget) -> None:
    """The caller makes the directory. A driver that makes one itself mounts where nobody looks,
    after the volume was forgotten, and nobody ever unmounts there."""
    request = staged.ready(csi)
    missing = f"{csi.steps.staging_path()}/missing"
    file = foreign.at(csi, f"{csi.steps.staging_path()}/file")
    with together() as check:
        for what, path in (
            ("a relative path", f"{csi.requests.fresh_name('relative')}/staging"),
            ("a path that does not exist", missing),
            ("a file", file.path),
        ):
            with check:
                expect_status(
                    partial(
                        csi.node.NodeStageVolume, staged.changed(request, staging_target_path=path)
                    ),
                    {Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION},
                    f"NodeStageVolume at {what} is refused",
                )
        rule = "NodeStageVolume makes no directory where there is none"
        with check:
            expect(
                not os.path.lexists(missing),
                rule,
                wanted=f"nothing at {missing}",
                got="a directory",
            )
        harm = file.harm()
        rule = "NodeStageVolume leaves a file at its path as it is"
        with check:
            expect(not harm, rule, wanted=f"{file.path} as it was", got=harm)


@case("CSI-STG-008", "CSI 1.13 Size Limits", needs=[*_NEEDS, VOLUMES, FILES])
def test_long_staging_paths_are_taken(csi: CsiTarget) -> None:
    """Kubelet's own paths have some 190 bytes. Every driver takes 128; it should take what the
    system takes, and any character."""
    request = staged.ready(csi)
    paths = [(f"of {length} bytes", lengths.directory(csi, length)) for length in lengths.LENGTHS]
    paths += [(f"with {name!r} in it", lengths.named(csi, name)) for name in lengths.UNUSUAL]
    with together() as check:
        for what, path in paths:
            at = staged.changed(request, staging_target_path=path)
            code = code_of(partial(csi.node.NodeStageVolume, at))
            demand = expect if len(path.encode()) <= lengths.LEAST else should
            rule = f"NodeStageVolume takes a staging_target_path {what}"
            with check:
                demand(code == Code.OK, rule, wanted="OK", got=code.name)
            csi.node.NodeUnstageVolume(staged.back(at))


@case("CSI-STG-009", _SOURCE, needs=[*_VOLUME, PUBLISH_UNPUBLISH_VOLUME, NODE_ID])
def test_a_volume_that_is_not_on_the_node_yet_is_refused_cleanly(csi: CsiTarget) -> None:
    """After a failure of the attacher kubelet may come too early, or without what the controller
    told. INTERNAL tells nobody what to do, and a half-made stage stands in the way of the next."""
    volume, path = csi.steps.volume(), csi.steps.staging_path()
    early = csi.requests.stage(volume, path)
    refusal = expect_refusal(
        lambda: csi.node.NodeStageVolume(early),
        "NodeStageVolume before ControllerPublish is refused",
    )
    _expect_clear(refusal.code, "before ControllerPublishVolume")
    request = csi.requests.stage(volume, path, publish_context=csi.steps.attach(volume))
    if request.publish_context:
        lacking = staged.changed(request, publish_context={})
        code = code_of(lambda: csi.node.NodeStageVolume(lacking))
        _expect_clear(code, "without its publish_context")
        csi.node.NodeUnstageVolume(staged.back(lacking))
    expect_status(
        lambda: csi.node.NodeStageVolume(request),
        {Code.OK},
        "NodeStageVolume is done after a try that came too early",
    )


def _expect_clear(code: Code, what: str) -> None:
    vague = code in (Code.INTERNAL, Code.UNKNOWN)
    rule = f"NodeStageVolume {what} is not answered with {code.name}"
    expect(not vague, rule, wanted="FAILED_PRECONDITION or another clear code", got=code.name)


def _of_type(csi: CsiTarget, block: bool) -> pb.NodeStageVolumeRequest:
    # Small: some drivers give a block volume all of its space at once.
    capability = csi.requests.capability(block=block)
    request = csi.requests.volume(capabilities=[capability])
    return staged.ready(csi, csi.steps.volume(request), capability=capability)
