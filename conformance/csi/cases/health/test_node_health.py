"""NodeGetVolumeHealth: what is wrong with a volume, as one node sees it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from conformance.csi.common import health, lengths
from conformance.csi.common.fault_injection import held_volume, settle_s, sick_on_first_node
from conformance.csi.common.published import block_volume, publish
from conformance.csi.common.refusals import code_of
from conformance.csi.common.uses import other_type
from conformance.csi.needs import (
    BLOCK,
    BREAKABLE_ON_NODE,
    CONTROLLER_HEALTH,
    FILES,
    HOLDABLE,
    LIST_HEALTH,
    NODE,
    NODE_HEALTH,
    REVISION_1_13,
    SAME_HOST,
    STAGE_UNSTAGE_VOLUME,
    STORAGE_HEALTH,
    TWO_NODE_ENDPOINTS,
    VOLUMES,
    without,
)
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.needs import AnyOf
from conformance.engine.verdict import eventually, expect, expect_status, timeout, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

_SOURCE = "CSI 1.13 NodeGetVolumeHealth"
_KUBELET = "Kubernetes 1.37 kubelet"
_NEEDS = (REVISION_1_13, NODE, NODE_HEALTH)
_VOLUME = (*_NEEDS, VOLUMES)
_PUBLISHED = (*_VOLUME, SAME_HOST)
_LOST = (pb.DEGRADED, pb.INACCESSIBLE)
_HUNG_S = 3.0  # enough for any answer that does not wait
_ASKED = 50  # questions while another call hangs: the hanging one is on its way by then


@case("CSI-HLTH-007", _SOURCE, needs=_VOLUME)
def test_relative_paths_are_refused(csi: CsiTarget) -> None:
    """Relative to what? Whatever the driver finds there is not what the caller means."""
    volume_id, relative = csi.steps.volume().volume_id, "refimpl/mount"
    with together() as check:
        for field, request in (
            ("volume_publish_path", health.node_request(volume_id, published=relative)),
            ("staging_target_path", health.node_request(volume_id, staged=relative)),
        ):
            with check:
                expect_status(
                    partial(csi.node.NodeGetVolumeHealth, request),
                    {Code.INVALID_ARGUMENT},
                    f"NodeGetVolumeHealth with a relative {field} is refused",
                )


@case("CSI-HLTH-008", _SOURCE, needs=[*_PUBLISHED, STAGE_UNSTAGE_VOLUME])
def test_a_volume_whose_staging_failed_has_a_health(csi: CsiTarget) -> None:
    """That is when somebody wants to know. Kubelet asks as soon as it has tried, and NOT_FOUND
    hides the reason why the pod does not start."""
    volume = csi.steps.volume()
    context, path = csi.steps.attach(volume), csi.steps.staging_path()
    attempts = (f"{path}/missing", None), (path, other_type(csi))
    codes = []
    for where, capability in attempts:
        request = csi.requests.stage(volume, where, capability=capability, publish_context=context)
        codes.append(code_of(partial(csi.node.NodeStageVolume, request)).name)
    with together() as check:
        for staged in (path, ""):
            with check:
                expect_status(
                    lambda staged=staged: health.at_node(csi, volume.volume_id, staged=staged),  # type: ignore[misc]
                    {Code.OK},
                    f"NodeGetVolumeHealth {'with' if staged else 'without'} staging_target_path"
                    f" answers for a volume that was tried to be staged ({', '.join(codes)})",
                )


@case("CSI-HLTH-009", _SOURCE, needs=_PUBLISHED)
def test_health_is_told_without_paths(csi: CsiTarget) -> None:
    """The id says which volume is meant; both paths may be left out."""
    health.at_node(csi, csi.steps.mount().volume.volume_id)


@case("CSI-HLTH-020", _SOURCE, needs=_NEEDS)
def test_the_health_of_no_volume_is_not_told(csi: CsiTarget) -> None:
    """Any error keeps what kubelet knows of a volume, an empty answer clears it."""
    with together() as check:
        for what, volume_id, code in (
            ("without volume_id", "", Code.INVALID_ARGUMENT),
            ("of an unknown volume", csi.requests.unknown_volume_id(), Code.NOT_FOUND),
        ):
            with check:
                expect_status(
                    partial(csi.node.NodeGetVolumeHealth, health.node_request(volume_id)),
                    {code},
                    f"NodeGetVolumeHealth {what} is refused",
                )


@case("CSI-HLTH-021", _SOURCE, needs=_PUBLISHED)
def test_whichever_path_is_named_the_health_is_the_same(csi: CsiTarget) -> None:
    """Kubelet names what it knows: after a restart that may be one path, both or none."""
    mounted = csi.steps.mount()
    target, staging = mounted.target_path, mounted.staging_path
    ways = {"volume_publish_path": (target, "")}
    if staging:
        ways["staging_target_path"] = ("", staging)
        ways["both paths"] = (target, staging)
    answers = {
        what: health.at_node(csi, mounted.volume.volume_id, *paths) for what, paths in ways.items()
    }
    first = health.ailments(next(iter(answers.values())))
    with together() as check:
        for what, answer in answers.items():
            with check:
                ailments = health.ailments(answer)
                rule = (
                    f"NodeGetVolumeHealth with {what} tells what it tells with volume_publish_path"
                )
                expect(
                    ailments == first, rule, wanted=health.named(first), got=health.named(ailments)
                )


@case("CSI-HLTH-022", "CSI 1.13 Size Limits", needs=[*_VOLUME, FILES])
def test_long_paths_are_taken(csi: CsiTarget) -> None:
    """Kubelet's paths are longer than 128 bytes where driver or volume have long names. The volume
    is staged and published there first, or that is tried at least."""
    with together() as check:
        for length in (lengths.LEAST, lengths.KUBELET):
            with check:
                volume = csi.steps.volume()
                context, staging = csi.steps.attach(volume), ""
                if csi.has(STAGE_UNSTAGE_VOLUME):
                    staging = lengths.directory(csi, length)
                    request = csi.requests.stage(volume, staging, publish_context=context)
                    code_of(partial(csi.node.NodeStageVolume, request))
                target = f"{lengths.directory(csi, length - len('/mount'))}/mount"
                publishing = csi.requests.node_publish(
                    volume, target, staging_path=staging, publish_context=context
                )
                code_of(partial(csi.node.NodePublishVolume, publishing))
                expect_status(
                    lambda: health.at_node(csi, volume.volume_id, target, staging),  # noqa: B023
                    {Code.OK},
                    f"NodeGetVolumeHealth takes paths of {len(target.encode())} bytes",
                )


@case("CSI-HLTH-023", _KUBELET, needs=[*_PUBLISHED, without(STAGE_UNSTAGE_VOLUME)])
def test_a_staging_path_means_nothing_to_a_driver_that_does_not_stage(csi: CsiTarget) -> None:
    """Kubelet names its directory for staging whether the driver stages or not."""
    mounted = csi.steps.mount()
    _expect_no_matter(csi, mounted.volume.volume_id, mounted.target_path, csi.steps.staging_path())


@case("CSI-HLTH-024", _KUBELET, needs=[*_PUBLISHED, BLOCK])
def test_a_directory_of_the_callers_own_does_not_matter_for_a_block_volume(csi: CsiTarget) -> None:
    """Of a block volume kubelet names its own map of devices as the staging path, a directory in
    which nothing was ever staged, and no publish path."""
    mounted = publish(csi, block_volume(csi))
    _expect_no_matter(csi, mounted.volume.volume_id, "", csi.steps.staging_path())


def _expect_no_matter(csi: CsiTarget, volume_id: str, target: str, staging: str) -> None:
    without = health.ailments(health.at_node(csi, volume_id, target))
    reply = expect_status(
        lambda: health.at_node(csi, volume_id, target, staging),
        {Code.OK},
        "NodeGetVolumeHealth answers with a staging_target_path where nothing is staged",
    )
    ailments = health.ailments(reply or pb.VolumeHealth())
    rule = "a staging_target_path where nothing is staged changes nothing"
    expect(ailments == without, rule, wanted=health.named(without), got=health.named(ailments))


@case("CSI-HLTH-025", _SOURCE, needs=[*_PUBLISHED, TWO_NODE_ENDPOINTS, BREAKABLE_ON_NODE])
def test_a_node_tells_what_it_has_lost_and_the_others_do_not(csi: CsiTarget) -> None:
    """With the right node named one pod moves away; with all of them the whole service does."""
    mounted = csi.steps.mount()
    volume_id, target, staging = mounted.volume.volume_id, mounted.target_path, mounted.staging_path

    def lost(node: int) -> set[health.Ailment]:
        reply = health.at_node(csi, volume_id, target, staging, node=node)
        return {ailment for ailment in health.ailments(reply) if ailment[0] in _LOST}

    with sick_on_first_node(csi, volume_id):
        rule = "the node that has lost a volume tells it as INACCESSIBLE or DEGRADED"
        ailments = eventually(lambda: lost(0), settle_s(csi), rule)
        others: set[health.Ailment] = set()
        try:
            others = lost(1)
        except Refused as refusal:  # a node that has never seen the volume need not know it
            rule = "another node answers, or does not know the volume"
            got = str(refusal)
            expect(refusal.code == Code.NOT_FOUND, rule, wanted="OK or NOT_FOUND", got=got)
        rule = f"another node does not tell {health.named(ailments)}"
        expect(not ailments & others, rule, wanted="no such entry", got=health.named(others))


@case(
    "CSI-HLTH-031",
    "robustness: one call hangs",
    needs=[
        REVISION_1_13,
        NODE,
        AnyOf((CONTROLLER_HEALTH, LIST_HEALTH, NODE_HEALTH, STORAGE_HEALTH)),
        STAGE_UNSTAGE_VOLUME,
        VOLUMES,
        SAME_HOST,
        HOLDABLE,
    ],
)
def test_health_is_told_while_another_call_hangs(csi: CsiTarget) -> None:
    """A stage that hangs is what people want to learn the reason of; a health that waits for the
    same lock hangs with it, and so does kubelet's loop over all other volumes."""
    volume = csi.steps.volume()
    request = csi.requests.stage(
        volume, csi.steps.staging_path(), publish_context=csi.steps.attach(volume)
    )
    with ThreadPoolExecutor(1) as pool, held_volume(csi, volume.volume_id):
        pool.submit(code_of, partial(csi.node.NodeStageVolume, request))
        for _ in range(_ASKED):
            _expect_answers(csi, volume.volume_id)


def _expect_answers(csi: CsiTarget, volume_id: str) -> None:
    limit = timeout(_HUNG_S)
    at_controller = pb.ControllerGetVolumeHealthRequest(
        volume_id=volume_id, secrets=csi.settings.secrets_for("ControllerGetVolumeHealth")
    )
    in_list = pb.ControllerListVolumeHealthRequest(
        max_entries=1, secrets=csi.settings.secrets_for("ControllerListVolumeHealth")
    )
    of_storage = pb.NodeGetStorageHealthRequest(
        secrets=csi.settings.secrets_for("NodeGetStorageHealth")
    )
    at_node = health.node_request(volume_id)
    calls: dict[str, Callable[[], object]] = {
        "controller:GET_VOLUME_HEALTH": lambda: csi.controller.ControllerGetVolumeHealth(
            at_controller, timeout=limit
        ),
        "controller:LIST_VOLUME_HEALTH": lambda: csi.controller.ControllerListVolumeHealth(
            in_list, timeout=limit
        ),
        "node:GET_VOLUME_HEALTH": lambda: csi.node.NodeGetVolumeHealth(at_node, timeout=limit),
        "node:GET_STORAGE_HEALTH": lambda: csi.node.NodeGetStorageHealth(of_storage, timeout=limit),
    }
    with together() as check:
        for capability, call in calls.items():
            with check:
                if capability in csi.capabilities:
                    expect_status(
                        call,
                        {Code.OK, Code.ABORTED},
                        f"{capability.partition(':')[2]} of the {capability.partition(':')[0]} is"
                        " answered while a NodeStageVolume of the same volume hangs",
                    )
