"""A driver process of the suite's own, watched from its first start to its end."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

import attrs

from conformance.csi.capabilities import Offers
from conformance.csi.common import every_rpc
from conformance.csi.target import CsiTarget
from conformance.engine.runid import new_run_id
from conformance.engine.supervise import Supervised
from conformance.engine.verdict import timeout
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

    offers: Offers
    beside: Collection[str]


@attrs.frozen
class Ending:
    """SIGTERM amid calls: how the last call of each caller ended, exit status, what was left."""

    last: Collection[Code]
    status: int | None
    left: Collection[str]


@attrs.frozen
class Life:
    """Started, called, killed, started again over the stale socket, ended."""

    socket: str
    first: Start
    before: Visit | None = None
    second: Start | None = None
    after: Visit | None = None
    ending: Ending | None = None


def live(csi: CsiTarget) -> Life:
    """Leads one process through its life, as far as it gets."""
    driver = csi.new_process()
    life = Life(os.path.basename(driver.endpoint.path), Start())
    try:
        life = attrs.evolve(life, first=_start(driver))
        if life.first.failure:
            return life
        life = attrs.evolve(life, before=_visit(csi, driver))
        driver.kill()
        life = attrs.evolve(life, second=_start(driver))
        if life.second and life.second.failure:
            return life
        return attrs.evolve(life, after=_visit(csi, driver), ending=_end(driver))
    finally:
        driver.close()


def _start(driver: Supervised) -> Start:
    driver.start()
    end, probes = time.monotonic() + timeout(START_S), list[Probed]()
    with contextlib.closing(Channel(driver.endpoint)) as channel:
        while not (probes and probes[-1].is_ready):
            if not driver.running() or time.monotonic() > end:
                return Start(probes, _failure(driver, probes))
            threading.Event().wait(0.01 if probes else 0)
            probes.append(_probe(channel))
        probes += [_probe(channel) for _ in range(_AFTER)]
    return Start(probes)


def _probe(channel: Channel) -> Probed:
    try:
        answer = csi_pb2_grpc.IdentityStub(channel).Probe(pb.ProbeRequest(), timeout=5.0)
    except Refused as refusal:
        return Probed(refusal.code)
    return Probed(Code.OK, answer.ready.value if answer.HasField("ready") else None)


def _failure(driver: Supervised, probes: list[Probed]) -> str:
    last = f"the last Probe answered {probes[-1]}" if probes else "it was never asked"
    if driver.running():
        return f"not ready after {timeout(START_S):g} s: {last}{driver.last_words()}"
    return f"the process ended with {driver.status()}: {last}{driver.last_words()}"


def _visit(csi: CsiTarget, driver: Supervised) -> Visit:
    resolved = attrs.evolve(csi.resolved, run_id=new_run_id())
    own = CsiTarget([driver.endpoint], resolved, chosen=csi.settings)
    try:
        every_rpc.answers(own)
        own.clean_up_quietly()
        return Visit(own.offers, _beside(driver))
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
