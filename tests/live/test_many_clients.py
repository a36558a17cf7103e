"""64 clients of one fake that loses replies, refuses, delays and cuts: faults alone take replies.

`pytest tests/live/test_many_clients.py --load-seconds 60` for longer than CI takes.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.api.csi_pb2_grpc import ControllerStub
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.status import Code, Refused

CLIENTS = 64
DEADLINE_S = 60.0
"""No call waits so long for its turn, so that no deadline takes a reply."""

FAULTS = """
- {id: slow, when: {probability: 0.02, seed: 1}, do: {delay: 0.05}}
- {id: lost, when: {method: "*Volume", probability: 0.05, seed: 2}, do: drop_reply}
- {id: refused, when: {method: "*Volume", probability: 0.02, seed: 3}, do: {status: UNAVAILABLE}}
- {id: cut, when: {method: "*Volume", every: 997}, do: {close: after}}
"""
TAKES_REPLIES = {"lost", "refused", "cut"}

Key = tuple[str, str]
"""RPC and what it is about: the name of a volume, or its id."""


@attrs.frozen
class Client:
    """One client: what it asked, in order, and what it was promised."""

    number: int
    journal: Journal = attrs.field(
        factory=lambda: Journal(keep=sys.maxsize, keep_bytes=sys.maxsize)
    )
    kept: set[str] = attrs.field(factory=set)

    def work(self, endpoint: Endpoint, end: float) -> None:
        """Makes volumes and deletes two of three, and asks each time until it is answered."""
        with Channel(endpoint, deadline_s=DEADLINE_S, journal=self.journal) as channel:
            channel.wait_ready(DEADLINE_S)  # what was never sent has no reply to lose
            controller, count = ControllerStub(channel), 0
            while time.monotonic() < end:
                count += 1
                request = volume(f"v-{self.number}-{count}")
                id = acknowledged(channel, controller.CreateVolume, request).volume.volume_id
                if count % 3:
                    gone = pb.DeleteVolumeRequest(volume_id=id)
                    acknowledged(channel, controller.DeleteVolume, gone)
                else:
                    self.kept.add(id)


def volume(name: str) -> pb.CreateVolumeRequest:
    """The plainest request."""
    request = pb.CreateVolumeRequest(name=name)
    capability = request.volume_capabilities.add()
    capability.mount.SetInParent()
    capability.access_mode.mode = pb.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
    return request


def acknowledged(channel: Channel, call: Callable[[Any], Any], request: Any) -> Any:
    """The answer, of however many attempts; no fault hits one request for ever."""
    for _ in range(100):
        try:
            return call(request)
        except Refused:
            channel.wait_ready(DEADLINE_S)
    raise AssertionError(f"a hundred attempts were not answered: {request}")


def listed(controller: ControllerStub) -> Iterator[str]:
    """Ids of all volumes."""
    request = pb.ListVolumesRequest()
    while True:
        page = controller.ListVolumes(request)
        yield from (entry.volume.volume_id for entry in page.entries)
        request.starting_token = page.next_token
        if not page.next_token:
            return


@contextmanager
def served(folder: Path, *words: str) -> Iterator[Endpoint]:
    """A driver in a process of its own over one state directory."""
    program = [sys.executable, "-m", "refimpl", "serve", "csi", str(folder / "c.sock")]
    options = ["--state-dir", str(folder / "state"), *words]
    with subprocess.Popen([*program, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("ready ")
            yield Endpoint.parse(folder / "c.sock")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()


def loaded(endpoint: Endpoint, seconds: float) -> list[Client]:
    """All clients at work for so long."""
    clients, end = [Client(number) for number in range(CLIENTS)], time.monotonic() + seconds
    with ThreadPoolExecutor(CLIENTS) as threads:
        for working in [threads.submit(client.work, endpoint, end) for client in clients]:
            working.result()
    return clients


def faults_of(call: Mapping[str, Any]) -> set[str]:
    """The rules that hit a call."""
    return set((call["fault"] or "").replace(" ", "").split(","))


def span(call: Mapping[str, Any]) -> tuple[float, float]:
    """From when to when it was served."""
    return call["time"], call["time"] + call["duration_s"]


class Proof:
    """Which fault took the reply of an attempt, by the journal of the server."""

    def __init__(self, lines: Iterable[Mapping[str, Any]]) -> None:
        self._calls: dict[Key, list[Mapping[str, Any]]] = defaultdict(list)
        self._cuts: list[tuple[float, float]] = []
        for call in lines:
            (request,) = call["requests"]
            about = request.get("name") or request.get("volume_id", "")
            self._calls[call["method"].rpartition("/")[2], about].append(call)
            if "cut" in faults_of(call):
                self._cuts.append(span(call))

    def taken(self, client: Client) -> Iterator[tuple[Entry, str]]:
        """Every attempt of a client that was not answered OK, with the fault that took the reply,
        "" for none."""
        attempts = client.journal.entries
        begins = [attempt.time for attempt in attempts[1:]] + [float("inf")]
        answered = 0.0
        for attempt, until in zip(attempts, begins, strict=True):
            own = self._own(attempt, until)
            if attempt.code != Code.OK:
                yield attempt, own or self._cut(attempt, answered)
            if attempt.code == Code.OK or own:
                answered = attempt.time

    def _own(self, attempt: Entry, until: float) -> str:
        """A fault that hit this very call."""
        (request,) = attempt.requests
        about = getattr(request, "name", "") or getattr(request, "volume_id", "")
        calls = self._calls.get((attempt.rpc, about), [])
        own = [call for call in calls if attempt.time <= call["time"] < until]
        return min((fault for call in own for fault in faults_of(call) & TAKES_REPLIES), default="")

    def _cut(self, attempt: Entry, answered: float) -> str:
        """A cut, of all connections, since the last call of this client began that was answered:
        one that hits a connection after its reply shows with the next call, or the next two."""
        end = attempt.time + attempt.duration_s
        return "cut" if any(cut[0] <= end and answered <= cut[1] for cut in self._cuts) else ""


def _told(attempt: Entry) -> str:
    return f"{attempt.rpc} after {attempt.duration_s:.3f} s: {attempt.code.name}: {attempt.message}"


def test_every_reply_that_a_client_misses_was_taken_by_a_fault(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """And what was acknowledged is there after a restart, and nothing else."""
    seconds = pytestconfig.getoption("--load-seconds")
    (tmp_path / "faults.yaml").write_text(FAULTS)
    journal = tmp_path / "calls.jsonl"
    with served(
        tmp_path, "--journal", str(journal), "--faults", str(tmp_path / "faults.yaml")
    ) as endpoint:
        clients = loaded(endpoint, seconds)
    with journal.open("rb") as file:
        lines = [json.loads(line) for line in file]
    proof, no_proof = Proof(lines), Proof({**line, "fault": None} for line in lines)
    assert {fault for client in clients for _, fault in no_proof.taken(client)} == {""}
    losses = [loss for client in clients for loss in proof.taken(client)]
    taken = Counter(fault for _, fault in losses)
    calls = sum(len(client.journal.entries) for client in clients)
    print(f"{CLIENTS} clients, {seconds:g} s: {calls} calls, replies taken by {dict(taken)}")
    assert [_told(attempt) for attempt, fault in losses if not fault] == []
    assert {"lost", "refused", "cut"} <= set(taken), "the faults did not hit"
    with served(tmp_path) as endpoint, Channel(endpoint) as channel:
        ids = set(listed(ControllerStub(channel)))
    assert ids == set().union(*(client.kept for client in clients))
