"""Health as CSI 1.13 tells it: of a volume by the controller and by nodes, of the storage by nodes.

An ailment is what a caller keys by: (status number, reason). Reasons are the driver's own words.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence

from conformance.csi.common import pagination
from conformance.csi.common.fault_injection import settle_s, sick, sick_storage
from conformance.csi.needs import (
    BREAKABLE,
    BREAKABLE_STORAGE,
    CONTROLLER_HEALTH,
    LIST_HEALTH,
    NODE_HEALTH,
)
from conformance.csi.target import CsiTarget
from conformance.engine.verdict import Broken, eventually, expect, together
from refimpl.csi.api import csi_pb2 as pb

Ailment = tuple[int, str]
Entry = pb.VolumeHealth.VolumeHealthEntry | pb.NodeGetStorageHealthResponse.StorageBackendHealth
Backend = Sequence[pb.NodeGetStorageHealthResponse.StorageBackendHealth]
MOST_ENTRIES = 16  # Kubernetes 1.37: a pod's status takes no more, kubelet drops a longer answer
_CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")


def at_controller(csi: CsiTarget, volume_id: str) -> pb.VolumeHealth:
    """ControllerGetVolumeHealth; Broken unless it answers for that volume."""
    request = pb.ControllerGetVolumeHealthRequest(
        volume_id=volume_id, secrets=csi.settings.secrets_for("ControllerGetVolumeHealth")
    )
    return _of(volume_id, csi.controller.ControllerGetVolumeHealth(request))


def at_node(
    csi: CsiTarget, volume_id: str, published: str = "", staged: str = "", *, node: int = 0
) -> pb.VolumeHealth:
    """NodeGetVolumeHealth; Broken unless it answers for that volume."""
    request = node_request(volume_id, published, staged)
    return _of(volume_id, csi.nodes[node].node.NodeGetVolumeHealth(request))


def node_request(
    volume_id: str, published: str = "", staged: str = ""
) -> pb.NodeGetVolumeHealthRequest:
    """A NodeGetVolumeHealth."""
    return pb.NodeGetVolumeHealthRequest(
        volume_id=volume_id, volume_publish_path=published, staging_target_path=staged
    )


def of_storage(csi: CsiTarget) -> list[Backend]:
    """The entries of NodeGetStorageHealth, for each node."""
    secrets = csi.settings.secrets_for("NodeGetStorageHealth")
    request = pb.NodeGetStorageHealthRequest(secrets=secrets)
    return [driver.node.NodeGetStorageHealth(request).backend_health for driver in csi.nodes]


def ailments(health: pb.VolumeHealth) -> set[Ailment]:
    """What a volume suffers from."""
    return {(entry.status, entry.reason) for entry in health.health_statuses}


def named(ailments: Iterable[Ailment]) -> str:
    """Ailments for a message: DEGRADED PathLost, 7 Unknown."""
    known = pb.VolumeHealthErrorType
    words = [
        f"{known.Name(known.ValueType(status)) if status in known.values() else status} {reason}"
        for status, reason in sorted(ailments)
    ]
    return ", ".join(words) or "no entry"


def volumes_told(csi: CsiTarget) -> list[tuple[str, pb.VolumeHealth]]:
    """Every health of volumes that can be had, with the RPC that told it: of a new volume, broken
    where there is a way to, and of all that are listed."""
    volume_id = csi.steps.volume().volume_id
    with _sick_if_possible(csi, volume_id):
        replies = []
        if csi.has(CONTROLLER_HEALTH):
            replies.append(("ControllerGetVolumeHealth", at_controller(csi, volume_id)))
        if csi.has(LIST_HEALTH):
            pages = pagination.sick_volumes(csi).pages()
            listed = [entry for page in pages for entry in page.entries]
            replies += [("ControllerListVolumeHealth", health) for health in listed]
        if csi.has(NODE_HEALTH):
            replies.append(("NodeGetVolumeHealth", at_node(csi, volume_id)))
        return replies


@contextlib.contextmanager
def _sick_if_possible(csi: CsiTarget, volume_id: str) -> Iterator[None]:
    if not csi.has(BREAKABLE):
        yield
        return
    with sick(csi, volume_id):
        if csi.has(CONTROLLER_HEALTH):
            with contextlib.suppress(Broken):  # another case says whether it has to be told
                eventually(lambda: ailments(at_controller(csi, volume_id)), settle_s(csi), "")
        yield


def storage_told(csi: CsiTarget) -> list[Backend]:
    """As `of_storage`, with the storage broken where there is a way to."""
    if not csi.has(BREAKABLE_STORAGE):
        return of_storage(csi)
    with sick_storage(csi, "STORAGE_DEGRADED"):
        with contextlib.suppress(Broken):  # another case says whether it has to be told
            eventually(lambda: any(of_storage(csi)), settle_s(csi), "")
        return of_storage(csi)


@contextlib.contextmanager
def several_sick(csi: CsiTarget, count: int) -> Iterator[list[str]]:
    """That many new volumes, broken while inside and listed as such; their ids."""
    listing = pagination.sick_volumes(csi)
    with contextlib.ExitStack() as stack:
        ids = []
        for _ in range(count):
            volume = csi.steps.volume(csi.requests.volume())
            stack.enter_context(sick(csi, volume.volume_id))
            ids.append(volume.volume_id)
        rule = "ControllerListVolumeHealth lists every volume that is broken"
        eventually(lambda: set(ids) <= set(listing.ids()), settle_s(csi), rule)
        yield ids


def expect_sound(entries: Iterable[Entry], rpc: str) -> None:
    """Each entry has a status and a reason that machines can read."""
    with together() as check:
        for entry in entries:
            with check:
                expect(
                    entry.status, f"{rpc}: an entry has a status", wanted="status > 0", got=entry
                )
            with check:
                expect(
                    _CAMEL_CASE.fullmatch(entry.reason),
                    f"{rpc}: the reason of an entry is one CamelCase word",
                    wanted="[A-Z][A-Za-z0-9]*",
                    got=repr(entry.reason),
                )


def _of(
    volume_id: str, reply: pb.ControllerGetVolumeHealthResponse | pb.NodeGetVolumeHealthResponse
) -> pb.VolumeHealth:
    expect(
        reply.HasField("volume_health") and reply.volume_health.volume_id == volume_id,
        f"{type(reply).__name__.removesuffix('Response')} answers with the health of the volume"
        " that was asked for",
        wanted=f"volume_health of {volume_id}",
        got=reply,
    )
    return reply.volume_health
