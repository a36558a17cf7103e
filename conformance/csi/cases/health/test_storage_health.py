"""NodeGetStorageHealth, and how many entries of health there may be."""

from __future__ import annotations

from conformance.csi.common import health
from conformance.csi.common.fault_injection import settle_s, sick_storage
from conformance.csi.needs import BREAKABLE_STORAGE, NODE, REVISION_1_13, STORAGE_HEALTH, VOLUMES
from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect, together
from refimpl.csi.api import csi_pb2 as pb

_SOURCE = "CSI 1.13 NodeGetStorageHealth"
_KUBELET = "Kubernetes 1.37 kubelet"
_NEEDS = (REVISION_1_13, NODE, STORAGE_HEALTH)
_LOST = (pb.STORAGE_DEGRADED, pb.STORAGE_UNREACHABLE)
_MODES = [mode for mode in Mode.Mode.values() if mode != Mode.UNKNOWN]
_RPC = "NodeGetStorageHealth"


@case("CSI-HLTH-010", _SOURCE, needs=_NEEDS, alone=True)
def test_no_two_entries_of_the_storage_are_the_same(csi: CsiTarget) -> None:
    """They become a list that is keyed by status, reason and kind of volume. Broken for this where
    there is a way to, since a storage in good order has no entries."""
    with together() as check:
        for entries in health.storage_told(csi):
            with check:
                keys = {
                    (
                        entry.status,
                        entry.reason,
                        entry.volume_capability.SerializeToString(deterministic=True),
                    )
                    for entry in entries
                }
                rule = (
                    "no two entries of NodeGetStorageHealth have one status, reason and capability"
                )
                expect(len(keys) == len(entries), rule, wanted=f"{len(keys)} entries", got=entries)


@case("CSI-HLTH-027", _SOURCE, needs=_NEEDS, alone=True)
def test_every_entry_of_the_storage_can_be_read_by_a_machine(csi: CsiTarget) -> None:
    """An entry without a status is dropped, and one whose reason is a sentence puts the update of
    the whole node at risk. Where nothing can be broken for this, it is judged by what the driver
    tells of itself, be it nothing."""
    with together() as check:
        for entries in health.storage_told(csi):
            with check:
                health.expect_sound(entries, _RPC)


@case("CSI-HLTH-028", _SOURCE, needs=[*_NEEDS, BREAKABLE_STORAGE], alone=True)
def test_a_storage_out_of_reach_is_told_until_it_is_back(csi: CsiTarget) -> None:
    """New pods are kept away from the node for as long as it is told, and not a minute longer."""

    def seen() -> set[health.Ailment]:
        listed = [entry for entries in health.of_storage(csi) for entry in entries]
        return {(entry.status, entry.reason) for entry in listed if entry.status in _LOST}

    before = seen()

    with sick_storage(csi, "STORAGE_UNREACHABLE", "BackendDown"):
        rule = "a storage out of reach is told as STORAGE_UNREACHABLE or STORAGE_DEGRADED"
        ailments = eventually(lambda: seen() - before, settle_s(csi), rule)
    rule = "a storage that is back is not told as out of reach any more"
    eventually(lambda: not ailments & seen(), settle_s(csi), rule)


@case("CSI-HLTH-029", _KUBELET, needs=_NEEDS, alone=True)
def test_the_kind_of_volume_of_an_entry_is_complete(csi: CsiTarget) -> None:
    """Kubelet drops the whole answer for one entry whose volume_capability lacks an access type or
    has an access mode that it does not know. Where nothing can be broken for this, it is judged by
    what the driver tells of itself, be it nothing."""
    with together() as check:
        for entry in (entry for entries in health.storage_told(csi) for entry in entries):
            with check:
                if entry.HasField("volume_capability"):
                    use = entry.volume_capability
                    expect(
                        use.WhichOneof("access_type") and use.access_mode.mode in _MODES,
                        "a volume_capability in NodeGetStorageHealth has an access type and a known"
                        " mode",
                        wanted="block or mount, and a mode",
                        got=entry,
                    )


@case("CSI-HLTH-030", _KUBELET, needs=[*_NEEDS, VOLUMES], alone=True)
def test_there_are_no_more_entries_than_a_caller_takes(csi: CsiTarget) -> None:
    """With more, kubelet drops what is told of the storage, and the API server refuses the status
    of the pod that uses the volume. Where nothing can be broken for this, it is judged by what the
    driver tells of itself, be it nothing."""
    counts = {_RPC: max(map(len, health.storage_told(csi)))}
    for rpc, reply in health.volumes_told(csi):
        counts[rpc] = max(counts.get(rpc, 0), len(reply.health_statuses))
    with together() as check:
        for rpc, count in counts.items():
            with check:
                rule = f"{rpc} answers with no more than {health.MOST_ENTRIES} entries"
                expect(count <= health.MOST_ENTRIES, rule, wanted=health.MOST_ENTRIES, got=count)
