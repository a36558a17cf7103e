"""A driver process of the suite's own, watched from its first start to its end."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

import attrs

from conformance.csi.capabilities import Capabilities
from conformance.csi.common import every_rpc
from conformance.csi.target import CsiTarget
from conformance.engine.runid import new_run_id
from conformance.engine.targets.supervise import Supervised
from conformance.engine.verdict import Broken, eventually, timeout
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.api import csi_pb2_grpc
from refimpl.wire.client import Channel
from refimpl.wire.status import Code, Refused

START_S = 20.0  # from the start of the process until it says that it is ready
_AFTER = 20  # probes of a driver that has become ready
_CALLERS = 4


@attrs.frozen
class Probed:
    """One answer to Probe; `ready` is None where the driver does not tell."""

    code: Code
    ready: bool | None = None

    @property
    def is_ready(self) -> bool:
        """Whether calls may be made (CSI, ProbeResponse)."""
        return self.code == Code.OK and self.ready is not False

    def __str__(self) -> str:
        return self.code.name if self.ready is None else f"{self.code.name}, ready = {self.ready}"


@attrs.frozen
class Start:
    """How one start went: all probes, and why it came to nothing."""

    probes: Collection[Probed] = ()
    failure: str = ""


@attrs.frozen
class Visit:
    """What a started driver told, and what lay in the directory of its socket after a round of
    calls."""

    capabilities: Capabilities
    beside: Collection[str]


@attrs.frozen
class Ending:
    """SIGTERM amid calls: how the last call of each caller ended, exit status, what was left."""

    last: Collection[Code]
    status: int | None
    left: Collection[str]


@attrs.frozen
class ProcessLifecycle:
    """Started, called, killed, started again over the stale socket, ended."""

    socket: str
    first: Start
    before: Visit | None = None
    second: Start | None = None
    after: Visit | None = None
    ending: Ending | None = None


def observe(csi: CsiTarget) -> ProcessLifecycle:
    """Leads one process of the driver from its start to its end, as far as it gets."""
    driver = csi.new_process()
    try:
        seen = ProcessLifecycle(os.path.basename(driver.endpoint.path), _start(driver))
        if seen.first.failure:
            return seen
        seen = attrs.evolve(seen, before=_visit(csi, driver))
        driver.kill()
        again = _start(driver)
        seen = attrs.evolve(seen, second=again)
        if again.failure:
            return seen
        return attrs.evolve(seen, after=_visit(csi, driver), ending=_end(driver))
    finally:
        driver.close()


def _start(driver: Supervised) -> Start:
    driver.start()
    probes: list[Probed] = []
    with contextlib.closing(Channel(driver.endpoint)) as channel:

        def ready() -> bool:
            probes.append(_probe(channel))
            return probes[-1].is_ready

        def ended() -> str:
            return "" if driver.running() else f"the process ended with {driver.status()}"

        try:
            eventually(ready, START_S, "a started driver becomes ready", unless=ended)
        except Broken:
            why = ended() or f"not ready after {timeout(START_S):g} s"
            failure = f"{why}: the last Probe answered {probes[-1]}{driver.last_words()}"
            return Start(probes, failure)
        probes += [_probe(channel) for _ in range(_AFTER)]
    return Start(probes)


def _probe(channel: Channel) -> Probed:
    try:
        answer = csi_pb2_grpc.IdentityStub(channel).Probe(pb.ProbeRequest(), timeout=5.0)
    except Refused as refusal:
        return Probed(refusal.code)
    return Probed(Code.OK, answer.ready.value if answer.HasField("ready") else None)


def _visit(csi: CsiTarget, driver: Supervised) -> Visit:
    resolved = attrs.evolve(csi.resolved, run_id=new_run_id())
    own = CsiTarget([driver.endpoint], resolved, chosen=csi.settings)
    try:
        with own.cleanup.trial():
            every_rpc.answers(own)
        return Visit(own.capabilities, _beside(driver))
    finally:
        own.close()


def _beside(driver: Supervised) -> Collection[str]:
    return sorted(os.listdir(os.path.dirname(driver.endpoint.path)))


def _end(driver: Supervised) -> Ending:
    with (
        contextlib.closing(Channel(driver.endpoint)) as channel,
        ThreadPoolExecutor(_CALLERS) as pool,
    ):
        answered = [threading.Event() for _ in range(_CALLERS)]
        last = [pool.submit(_ask_until_refused, channel, event) for event in answered]
        for event in answered:
            event.wait(timeout(5.0))
        status = driver.terminate()
        return Ending([each.result() for each in last], status, _beside(driver))


def _ask_until_refused(channel: Channel, answered: threading.Event) -> Code:
    identity = csi_pb2_grpc.IdentityStub(channel)
    try:
        while True:
            identity.GetPluginCapabilities(pb.GetPluginCapabilitiesRequest(), timeout=20.0)
            answered.set()
    except Refused as refusal:
        return refusal.code
    finally:
        answered.set()
