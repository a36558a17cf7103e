"""Copies of a volume that are cut while they are made, and asked for again."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping

import attrs

from conformance.csi.common import content
from conformance.csi.needs import CLONE_VOLUME, CREATE_DELETE_SNAPSHOT, DATA
from conformance.csi.requests import from_snapshot, from_volume
from conformance.csi.target import CsiTarget
from conformance.engine.ledger.calls import LedgerChannel
from conformance.engine.verdict import Broken, Unjudged, eventually, timeout
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel
from refimpl.wire.status import Code, Refused

Cut = Callable[[CsiTarget, pb.CreateVolumeRequest, float], object]
"""Sends a CreateVolume and cuts it after so many seconds."""

_PATIENCE_S = 60.0
_STUBBORN = 60  # the same refusal as often is one for ever: about five seconds


@attrs.frozen
class Original:
    """A volume, what it holds, what made it, and what it can be copied from: `restore` from a
    snapshot, `clone` from the volume itself."""

    request: pb.CreateVolumeRequest
    volume: pb.Volume
    written: bytes
    sources: Mapping[str, pb.VolumeContentSource]


def original(csi: CsiTarget) -> Original:
    """A new volume with content, where the suite can write to it, and a snapshot of it."""
    request, written = csi.requests.volume(), b""
    volume = csi.steps.volume(request)
    if csi.has(DATA):
        written = content.fresh()
        mounted = csi.steps.mount(volume)
        content.write(mounted, written)
        csi.steps.withdraw(mounted)
    sources = {}
    if csi.has(CREATE_DELETE_SNAPSHOT):
        sources["restore"] = from_snapshot(csi.steps.snapshot(volume).snapshot_id)
    if csi.has(CLONE_VOLUME):
        sources["clone"] = from_volume(volume.volume_id)
    return Original(request, volume, written, sources)


def copy_request(
    csi: CsiTarget, first: Original, source: pb.VolumeContentSource
) -> pb.CreateVolumeRequest:
    """A CreateVolume of a copy under a fresh name."""
    size = first.volume.capacity_bytes or csi.requests.size
    return csi.requests.volume(required=size, source=source)


@attrs.frozen
class Way:
    """A way to copy that can be repeated: from what, and the seconds that it takes uncut."""

    source: pb.VolumeContentSource
    usual_s: float


def ways(csi: CsiTarget, first: Original) -> dict[str, Way]:
    """The ways to copy a volume, `restore` and `clone`, without those that cannot even be repeated
    where nobody cuts them. Raises Unjudged where none is left."""
    usable, unjudged = {}, None
    for kind, source in first.sources.items():
        try:
            usable[kind] = Way(source, usual_s(csi, copy_request(csi, first, source)))
        except Unjudged as refusal:
            unjudged = refusal
    if unjudged and not usable:
        raise unjudged
    return usable


def usual_s(csi: CsiTarget, request: pb.CreateVolumeRequest) -> float:
    """Seconds that a copy takes which nobody cuts; raises Unjudged where even that one is refused
    when it is asked for again."""
    began = time.monotonic()
    csi.controller.CreateVolume(request)
    duration_s = time.monotonic() - began
    try:
        csi.controller.CreateVolume(request)
    except Refused as refusal:
        restored = request.volume_content_source.HasField("snapshot")
        owner = "CSI-CTRL-042" if restored else "CSI-CTRL-047"
        raise Unjudged(refusal, "a copy that nobody cut cannot be repeated", owner) from refusal
    return duration_s


def forgotten(csi: CsiTarget, first: Original) -> bool:
    """Whether the driver, started again, does not know the volume any more."""
    try:
        csi.controller.ValidateVolumeCapabilities(csi.requests.validate(first.volume))
    except Refused as refusal:
        return refusal.code == Code.NOT_FOUND
    return False


def passes_its_deadline(csi: CsiTarget, request: pb.CreateVolumeRequest, after_s: float) -> None:
    """The deadline of the call is so short."""
    with contextlib.suppress(Refused):
        csi.controller.CreateVolume(request, timeout=after_s / timeout(1.0))


def leaves(csi: CsiTarget, request: pb.CreateVolumeRequest, after_s: float) -> None:
    """The caller hangs up."""
    with Channel(csi.endpoint, journal=csi.journal) as channel:
        channel.wait_ready(5.0)
        interrupted(csi, request, after_s, channel.close, channel)


def interrupted(
    csi: CsiTarget,
    request: pb.CreateVolumeRequest,
    after_s: float,
    interrupt: Callable[[], object],
    channel: Channel | None = None,
) -> None:
    """Sends the call (over that channel, or the usual one), interrupts it and waits for its end."""
    calls = csi.cleanup.calls
    driver = Driver.over(LedgerChannel(channel, calls)) if channel else csi.driver
    ended = threading.Event()

    def send() -> None:
        with contextlib.suppress(Refused):
            driver.controller.CreateVolume(request)
        ended.set()

    caller = threading.Thread(target=send)
    caller.start()
    ended.wait(after_s)
    interrupt()
    caller.join()


def expect_finished(
    csi: CsiTarget, request: pb.CreateVolumeRequest, first: Original, what: str
) -> None:
    """Asked for again, `what` is made; ABORTED is an answer for a while. It is a whole copy."""
    volume = _asked_again(csi, request, f"{what} is made when it is asked for again")
    if first.written:
        mounted = csi.steps.mount(volume)
        content.expect_content(
            mounted, first.written, f"{what} and asked for again has the content of its source"
        )
        csi.steps.withdraw(mounted)


def _asked_again(csi: CsiTarget, request: pb.CreateVolumeRequest, rule: str) -> pb.Volume:
    refusals: list[Refused] = []

    def ask() -> pb.Volume | None:
        try:
            return csi.controller.CreateVolume(request).volume
        except Unjudged:
            raise
        except Refused as refusal:
            refusals.append(refusal)
            return None

    def stuck() -> str:
        codes = [refusal.code for refusal in refusals[-_STUBBORN:]]
        same = len(codes) == _STUBBORN and len(set(codes)) == 1
        return codes[0].name if same and codes[0] != Code.ABORTED else ""

    try:
        return eventually(ask, _PATIENCE_S, rule, unless=stuck)  # type: ignore[return-value]
    except Broken:
        got = f"{len(refusals)} refusals, the last {refusals[-1]}"
        raise Broken(rule, "OK, after ABORTED for a while", got) from None
