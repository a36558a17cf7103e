"""ControllerGetVolumeHealth: what is wrong with a volume, as the controller sees it."""

from __future__ import annotations

from conformance.csi.capabilities import transitions
from conformance.csi.common import health
from conformance.csi.common.fault_injection import settle_s, sick, sick_on_first_node
from conformance.csi.common.pagination import volumes
from conformance.csi.needs import (
    BREAKABLE,
    BREAKABLE_ON_NODE,
    BREAKABLE_TWICE,
    CONDITION_AND_HEALTH,
    CONTROLLER_HEALTH,
    CREATE_DELETE_VOLUME,
    GET_VOLUME,
    LIST_HEALTH,
    NODE_HEALTH,
    REVISION_1_13,
    SAME_HOST,
    STORAGE_HEALTH,
    VOLUMES,
)
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.needs import AnyOf
from conformance.engine.verdict import Broken, eventually, expect, expect_status, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 ControllerGetVolumeHealth"
_ENTRIES = "CSI 1.13 VolumeHealth"
_NEEDS = (REVISION_1_13, CONTROLLER_HEALTH)
_ANY_VOLUME = AnyOf((CONTROLLER_HEALTH, LIST_HEALTH, NODE_HEALTH))
_LONGEST = 128  # bytes
_TIMES = 3


@case("CSI-HLTH-001", _SOURCE, needs=[*_NEEDS, VOLUMES])
def test_the_health_of_a_volume_is_told_under_its_id(csi: CsiTarget) -> None:
    """Whoever watches many volumes sorts the answers by id. A volume nobody has broken has nothing
    to tell, or people learn to overlook what is told."""
    volume_id = csi.shared.volume().volume_id
    ailments = health.ailments(health.at_controller(csi, volume_id))
    rule = "a volume in good order has an empty health_statuses"
    should(not ailments, rule, wanted="no entry", got=health.named(ailments))


@case("CSI-HLTH-002", _SOURCE, needs=_NEEDS)
def test_the_health_of_no_volume_is_not_told(csi: CsiTarget) -> None:
    """An empty answer for a volume that is not there reads as good health."""
    with together() as check:
        with check:
            _expect_code(csi, "", Code.INVALID_ARGUMENT, "without volume_id")
        with check:
            _expect_code(
                csi, csi.requests.unknown_volume_id(), Code.NOT_FOUND, "of an unknown volume"
            )


@case("CSI-HLTH-005", _ENTRIES, needs=[REVISION_1_13, _ANY_VOLUME, VOLUMES])
def test_the_entries_of_a_volume_can_be_told_apart(csi: CsiTarget) -> None:
    """They become conditions that are keyed by status and reason: with two of one key, or a reason
    that is a sentence, the API server refuses the whole status of the pod. Looked at in every
    health that can be had, of a broken volume where there is a way to break one. Where nothing can
    be broken for this, it is judged by what the driver tells of itself, be it nothing."""
    with together() as check:
        for rpc, reply in health.volumes_told(csi):
            with check:
                health.expect_sound(reply.health_statuses, rpc)
            with check:
                expect(
                    len(health.ailments(reply)) == len(reply.health_statuses),
                    f"{rpc}: no two entries of a volume have the same status and reason",
                    wanted="each pair once",
                    got=reply,
                )


@case("CSI-HLTH-013", _SOURCE, needs=[*_NEEDS, CREATE_DELETE_VOLUME])
def test_the_health_of_a_deleted_volume_is_not_told(csi: CsiTarget) -> None:
    """A monitor asks on for as long as it gets answers."""
    volume_id = csi.steps.volume().volume_id
    csi.controller.DeleteVolume(csi.requests.delete(volume_id))
    _expect_code(csi, volume_id, Code.NOT_FOUND, "of a deleted volume")


@case("CSI-HLTH-014", _ENTRIES, needs=[*_NEEDS, CREATE_DELETE_VOLUME, BREAKABLE])
def test_an_entry_stays_as_long_as_its_problem(csi: CsiTarget) -> None:
    """An entry that comes and goes sends people after a problem that seems solved each time; one
    that never goes hides the next problem."""
    volume_id = csi.steps.volume().volume_id
    before = _seen(csi, volume_id)
    with sick(csi, volume_id):
        ailments = _appeared(csi, volume_id, before)
        should(ailments, "a broken volume has an entry", wanted="an entry", got="none")
        for number in range(_TIMES):
            still = _seen(csi, volume_id)
            rule = f"the entry of a broken volume stays (answer {number + 1} after the first)"
            expect(still >= ailments, rule, wanted=health.named(ailments), got=health.named(still))
    rule = "the entry of a repaired volume goes"
    eventually(lambda: not ailments & _seen(csi, volume_id), settle_s(csi), rule)


@case("CSI-HLTH-015", _ENTRIES, needs=[*_NEEDS, CREATE_DELETE_VOLUME, BREAKABLE_TWICE])
def test_each_of_two_problems_has_its_own_entry(csi: CsiTarget) -> None:
    """A driver that tells the worst one only says that all is well again when that is repaired."""
    volume_id = csi.steps.volume().volume_id
    with sick(csi, volume_id, "DEGRADED", "RefimplFirst"):
        first = _appeared(csi, volume_id, set())
        expect(first, "a volume with a fault has an entry", wanted="an entry", got="none")
        with sick(csi, volume_id, "INACCESSIBLE", "RefimplSecond"):
            second = _appeared(csi, volume_id, first)
            both = _seen(csi, volume_id)
            expect(
                second and both >= first | second,
                "a volume with two faults has an entry for each",
                wanted=f"{health.named(first)}, and another",
                got=health.named(both),
            )
        rule = "the entry of the fault that was repaired goes"
        eventually(lambda: not second & _seen(csi, volume_id), settle_s(csi), rule)
        left = _seen(csi, volume_id)
        rule = "the entry of the fault that was not repaired stays"
        expect(left >= first, rule, wanted=health.named(first), got=health.named(left))


@case(
    "CSI-HLTH-016",
    "CSI 1.13 Size Limits",
    needs=[
        REVISION_1_13,
        AnyOf((CONTROLLER_HEALTH, LIST_HEALTH, NODE_HEALTH, STORAGE_HEALTH)),
        VOLUMES,
    ],
    alone=True,
)
def test_reasons_and_messages_are_short(csi: CsiTarget) -> None:
    """Without a limit of their own they have that of every string. Kubernetes takes a little more,
    so that a longer one only warns. Where nothing can be broken for this, it is judged by what the
    driver tells of itself, be it nothing."""
    entries: list[tuple[str, health.Entry]] = [
        (rpc, entry) for rpc, reply in health.volumes_told(csi) for entry in reply.health_statuses
    ]
    if csi.has(STORAGE_HEALTH):
        backends = health.storage_told(csi)
        entries += [("NodeGetStorageHealth", entry) for backend in backends for entry in backend]
    with together() as check:
        for rpc, entry in entries:
            for name, text in (("reason", entry.reason), ("message", entry.message)):
                size = len(text.encode())
                rule = f"{rpc}: the {name} of an entry has at most {_LONGEST} bytes"
                with check:
                    should(size <= _LONGEST, rule, wanted=f"at most {_LONGEST}", got=size)


@case(
    "CSI-HLTH-011",
    _ENTRIES,
    needs=[*_NEEDS, NODE_HEALTH, CREATE_DELETE_VOLUME, BREAKABLE_ON_NODE],
)
def test_controller_and_node_may_see_different_things(csi: CsiTarget) -> None:
    """A path that only one node has lost is no news to the controller. Both go on telling what
    they see, and neither refuses because the other sees more."""
    volume_id = csi.steps.volume().volume_id
    with together() as check, sick_on_first_node(csi, volume_id):
        for who, look in (("controller", health.at_controller), ("node", health.at_node)):
            with check:
                expect_status(
                    lambda look=look: look(csi, volume_id),  # type: ignore[misc]
                    {Code.OK},
                    f"the {who} tells the health of a volume that one node alone has lost",
                )


@case(
    "CSI-HLTH-026",
    "robustness: the controller speaks for all nodes",
    needs=[*_NEEDS, CREATE_DELETE_VOLUME, BREAKABLE_ON_NODE],
)
def test_what_one_node_has_lost_is_not_inaccessible_to_the_controller(csi: CsiTarget) -> None:
    """INACCESSIBLE from the controller reads as: from no node at all. An operator that acts on it
    takes a volume from pods which use it happily."""
    volume_id = csi.steps.volume().volume_id
    with sick_on_first_node(csi, volume_id, "INACCESSIBLE"):
        if csi.has(NODE_HEALTH):
            rule = "the node that has lost a volume tells so"
            eventually(lambda: health.ailments(health.at_node(csi, volume_id)), settle_s(csi), rule)
        reply = health.at_controller(csi, volume_id)
    wrong = [entry for entry in reply.health_statuses if entry.status == pb.INACCESSIBLE]
    expect(
        not wrong,
        "the controller does not tell a volume as INACCESSIBLE that one node alone has lost",
        wanted="no such entry",
        got=reply,
    )


@case(
    "CSI-HLTH-012",
    "CSI 1.13 ControllerGetCapabilities, NodeGetCapabilities",
    needs=[REVISION_1_13],
)
def test_the_condition_capability_of_older_revisions_is_gone(csi: CsiTarget) -> None:
    """Its numbers are reserved: no caller of today asks for conditions. A driver for callers of
    both revisions has a reason to keep it, beside the new one."""
    left = [
        f"{side} VOLUME_CONDITION"
        for side in ("controller", "node")
        if f"{side}:VOLUME_CONDITION" in csi.capabilities
        and f"{side}:GET_VOLUME_HEALTH" not in csi.capabilities
    ]
    expect(
        not left,
        "VOLUME_CONDITION is not advertised, except beside GET_VOLUME_HEALTH",
        wanted="GET_VOLUME_HEALTH, or nothing",
        got=", ".join(left),
    )


@case(
    "CSI-HLTH-032",
    "robustness: two views of one volume",
    needs=[REVISION_1_13, CONDITION_AND_HEALTH, CREATE_DELETE_VOLUME, BREAKABLE],
)
def test_condition_and_health_agree(csi: CsiTarget) -> None:
    """While clusters of both revisions are about, the same volume must not be well in one and sick
    in the other."""
    at_node = "node" in transitions(csi.capabilities) and csi.has(SAME_HOST)
    mounted = csi.steps.mount() if at_node else None
    volume_id = mounted.volume.volume_id if mounted else csi.steps.volume().volume_id
    target = mounted.target_path if mounted else ""
    with together() as check:
        with check:
            _expect_agreement(csi, volume_id, target, "in good order")
        with sick(csi, volume_id), check:
            _expect_agreement(csi, volume_id, target, "that is broken")


def _expect_agreement(csi: CsiTarget, volume_id: str, target: str, what: str) -> None:
    for side in transitions(csi.capabilities):
        if side == "node" and not target:
            continue

        def seen(side: str = side) -> tuple[bool, bool]:
            if side == "controller":
                reply = health.at_controller(csi, volume_id)
                return _condition(csi, volume_id).abnormal, bool(reply.health_statuses)
            reply = health.at_node(csi, volume_id, target)
            request = pb.NodeGetVolumeStatsRequest(volume_id=volume_id, volume_path=target)
            stats = csi.node.NodeGetVolumeStats(request)
            return stats.volume_condition.abnormal, bool(reply.health_statuses)

        rule = (
            f"the {side} tells a volume {what} as abnormal if, and only if, it has health_statuses"
        )
        eventually(lambda: len(set(seen())) == 1, settle_s(csi), rule)


def _condition(csi: CsiTarget, volume_id: str) -> pb.VolumeCondition:
    if csi.has(GET_VOLUME):
        request = pb.ControllerGetVolumeRequest(volume_id=volume_id)
        return csi.controller.ControllerGetVolume(request).status.volume_condition
    entry = volumes(csi).find(volume_id)
    return entry.status.volume_condition if entry else pb.VolumeCondition()


def _expect_code(csi: CsiTarget, volume_id: str, code: Code, what: str) -> None:
    rule = f"ControllerGetVolumeHealth {what} is refused"
    expect_status(lambda: health.at_controller(csi, volume_id), {code}, rule)


def _seen(csi: CsiTarget, volume_id: str) -> set[health.Ailment]:
    return health.ailments(health.at_controller(csi, volume_id))


def _appeared(csi: CsiTarget, volume_id: str, known: set[health.Ailment]) -> set[health.Ailment]:
    """What is told beyond what is known; empty where nothing appears in time."""
    try:
        return eventually(lambda: _seen(csi, volume_id) - known, settle_s(csi), "")
    except Broken:
        return set()
