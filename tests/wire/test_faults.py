"""Each fault as a caller meets it, through a real server over a real socket."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from refimpl.csi.api import csi_pb2 as csi
from refimpl.csi.api import csi_pb2_grpc as stubs
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import (
    Close,
    Delay,
    DropReply,
    EndStream,
    FaultRule,
    Faults,
    Hang,
    Mutate,
    Status,
)
from refimpl.wire.journal import Journal
from refimpl.wire.server import Call, Server
from refimpl.wire.status import Code

DEADLINE_S = 20.0


class Controller:
    """Remembers what took effect."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def CreateVolume(
        self, request: csi.CreateVolumeRequest, call: Call
    ) -> csi.CreateVolumeResponse:
        self.made.append(request.name)
        return csi.CreateVolumeResponse(volume={"volume_id": request.name, "capacity_bytes": 5})


class Metadata:
    """Streams ten messages, and remembers how far it came."""

    def __init__(self) -> None:
        self.sent = 0
        self.ended = threading.Event()

    def GetMetadataAllocated(
        self, request: csi.GetMetadataAllocatedRequest, call: Call
    ) -> Iterator[csi.GetMetadataAllocatedResponse]:
        try:
            for self.sent in range(1, 11):
                yield csi.GetMetadataAllocatedResponse(volume_capacity_bytes=self.sent)
        finally:
            self.ended.set()


class Site:
    """A server with faults, and a client of it."""

    def __init__(self, directory: Path) -> None:
        self.faults, self.journal = Faults(report=lambda _: None), Journal()
        self.controller, self.metadata = Controller(), Metadata()
        services = csi.DESCRIPTOR.services_by_name
        self.server = Server(
            {
                services["Controller"]: self.controller,
                services["SnapshotMetadata"]: self.metadata,
            },
            journal=self.journal,
            faults=self.faults,
        )
        self.endpoint = self.server.start(Endpoint.parse(directory / "csi.sock"))
        self.channel = connect(self.endpoint)

    def create(self, name: str = "v") -> csi.CreateVolumeResponse:
        """One call; raises grpc.RpcError."""
        stub = stubs.ControllerStub(self.channel)
        return stub.CreateVolume(csi.CreateVolumeRequest(name=name), timeout=DEADLINE_S)

    def refused(self, name: str = "v") -> grpc.RpcError:
        """One call that must fail."""
        with pytest.raises(grpc.RpcError) as caught:
            self.create(name)
        return caught.value

    def stream(self) -> tuple[list[int], grpc.StatusCode]:
        """The messages of one stream, and how it ended."""
        stub = stubs.SnapshotMetadataStub(self.channel)
        replies = stub.GetMetadataAllocated(csi.GetMetadataAllocatedRequest(), timeout=DEADLINE_S)
        capacities = []
        try:
            for reply in replies:
                capacities.append(reply.volume_capacity_bytes)
        except grpc.RpcError:
            pass
        return capacities, replies.code()

    def begin(self, timeout: float = DEADLINE_S) -> grpc.Future:
        """A call in the background, once the rule holds it."""
        stub = stubs.ControllerStub(self.channel)
        future = stub.CreateVolume.future(csi.CreateVolumeRequest(name="held"), timeout=timeout)
        until(lambda: any(counts["holding"] for counts in self.faults.to_dict()["counts"].values()))
        return future


def connect(endpoint: Endpoint) -> grpc.Channel:
    """A channel with a connection of its own, which never tries again by itself."""
    options = [
        ("grpc.default_authority", "localhost"),
        ("grpc.enable_retries", 0),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    return grpc.insecure_channel(endpoint.target, options)


def until(holds: Callable[[], object]) -> None:
    """Waits for a condition that another thread brings about."""
    never = threading.Event()
    while not holds():
        never.wait(0.002)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    site.channel.close()
    site.server.stop()


def test_status_answers_in_place_of_the_implementation(site: Site) -> None:
    """The plainest fault: no effect, a status, and the rule's name in the journal."""
    site.faults.add(
        FaultRule(do=Status(Code.RESOURCE_EXHAUSTED, "pool is full"), id="full", times=1)
    )
    error = site.refused()
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert error.details() == "pool is full"
    assert site.controller.made == []
    assert site.create().volume.volume_id == "v"
    assert [(e.code, e.fault) for e in site.journal.calls("CreateVolume")] == [
        (Code.RESOURCE_EXHAUSTED, "full"),
        (Code.OK, None),
    ]


def test_delay_ends_by_itself(site: Site) -> None:
    """Late, but as if nothing had been."""
    site.faults.add(FaultRule(do=Delay(0.01)))
    assert site.create().volume.volume_id == "v"
    assert site.journal.entries[-1].fault == "r1"


def test_a_delayed_call_whose_caller_leaves_takes_no_effect(site: Site) -> None:
    """The effect would come after the caller's deadline, to the surprise of its next attempt."""
    site.faults.add(FaultRule(do=Delay(1000)))
    future = site.begin()
    future.cancel()
    until(lambda: site.journal.entries)
    assert site.journal.entries[-1].code is Code.CANCELLED
    assert site.controller.made == []


def test_hang_ends_with_the_deadline_of_the_caller(site: Site) -> None:
    """A thread of the server must not be lost to a caller that is gone."""
    site.faults.add(FaultRule(do=Hang()))
    error = site.begin(timeout=0.3).exception()
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    until(lambda: site.journal.entries)
    assert site.journal.entries[-1].code is Code.DEADLINE_EXCEEDED
    assert site.controller.made == []


def test_hang_ends_when_its_rule_goes_and_the_call_goes_on(site: Site) -> None:
    """Steering from outside: hold a call, look around, let it go."""
    site.faults.add(FaultRule(do=Hang(), id="hold"))
    future = site.begin()
    site.faults.remove("hold")
    assert future.result().volume.volume_id == "held"


def test_hang_ends_when_the_server_stops(site: Site) -> None:
    """Neither the caller nor the stopping server waits."""
    site.faults.add(FaultRule(do=Hang()))
    future = site.begin()
    site.server.stop()
    assert future.exception().code() is grpc.StatusCode.UNAVAILABLE


def test_hanging_calls_do_not_keep_others_waiting(site: Site) -> None:
    """More calls hang than the server has threads, and another method is answered."""
    site.faults.add(FaultRule(do=Hang(), request={"name": "held"}))
    futures = [site.begin() for _ in range(10)]
    until(lambda: site.faults.to_dict()["counts"]["r1"]["holding"] == 10)
    assert site.create("free").volume.volume_id == "free"
    for future in futures:
        future.cancel()


def test_drop_reply_leaves_the_effect(site: Site) -> None:
    """What an orchestrator sees when the network fails at the worst moment."""
    site.faults.add(FaultRule(do=DropReply(), times=1))
    assert site.refused("v1").code() is grpc.StatusCode.UNAVAILABLE
    assert site.controller.made == ["v1"]
    (entry,) = site.journal.entries
    assert (entry.code, entry.fault) == (Code.UNAVAILABLE, "r1")


@pytest.mark.parametrize(("phase", "names"), [("before", []), ("after", ["v1"])])
def test_close_cuts_the_connection_before_or_after_the_effect(
    site: Site, phase: str, names: list[str]
) -> None:
    """The caller loses the connection without a word; who connects anew is served."""
    site.faults.add(FaultRule(do=Close(phase), times=1))  # type: ignore[arg-type]
    error = site.refused("v1")
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert "fault r1" not in (error.details() or "")  # no status arrived, only the end
    assert site.controller.made == names
    site.channel.close()
    site.channel = connect(site.endpoint)
    assert site.create("v2").volume.volume_id == "v2"


def test_close_cuts_every_connection_to_the_server(site: Site) -> None:
    """A stream that another client holds open falls with it."""
    site.faults.add(FaultRule(do=Hang(), method="GetMetadata*"))
    site.faults.add(FaultRule(do=Close(), method="CreateVolume"))
    with connect(site.endpoint) as channel:
        stub = stubs.SnapshotMetadataStub(channel)
        replies = stub.GetMetadataAllocated(csi.GetMetadataAllocatedRequest(), timeout=DEADLINE_S)
        until(lambda: site.faults.to_dict()["counts"]["r1"]["holding"])
        site.refused()
        assert replies.code() is grpc.StatusCode.UNAVAILABLE


def test_close_cuts_over_tcp_as_well() -> None:
    """TCP endpoints are for CI; faults are the same there."""
    controller, faults = Controller(), Faults([FaultRule(do=Close(), times=1)])
    services = {csi.DESCRIPTOR.services_by_name["Controller"]: controller}
    with Server(services, faults=faults) as server:
        endpoint = server.start(Endpoint.parse("tcp://127.0.0.1:0"))
        with connect(endpoint) as cut, pytest.raises(grpc.RpcError) as caught:
            stubs.ControllerStub(cut).CreateVolume(csi.CreateVolumeRequest(), timeout=DEADLINE_S)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert "fault" not in (caught.value.details() or "")
        with connect(endpoint) as fresh:
            request = csi.CreateVolumeRequest(name="b")
            stubs.ControllerStub(fresh).CreateVolume(request, timeout=DEADLINE_S)
    assert controller.made == ["b"]


def test_mutate_changes_the_reply_and_not_the_effect(site: Site) -> None:
    """Answers that lie."""
    edits = {"volume.capacity_bytes": 1, "volume.volume_context.tier": "gold"}
    site.faults.add(FaultRule(do=Mutate(edits), method="CreateVolume"))
    volume = site.create("v1").volume
    assert (volume.volume_id, volume.capacity_bytes) == ("v1", 1)
    assert dict(volume.volume_context) == {"tier": "gold"}
    assert site.controller.made == ["v1"]


def test_a_mutation_that_does_not_fit_is_journaled_and_the_call_goes_on(site: Site) -> None:
    """A rule by glob meets a reply without the field."""
    site.faults.add(FaultRule(do=Mutate({"entries": []}), method="*"))
    assert site.create().volume.volume_id == "v"
    fault = site.journal.entries[-1].fault or ""
    assert fault.startswith("r1 ('entries': CreateVolumeResponse has no field 'entries'")
    assert site.faults.problems == [f"fault {fault}"]


def test_end_stream_cuts_a_stream_short(site: Site) -> None:
    """It looks complete to the caller, and the implementation is ended with it."""
    site.faults.add(FaultRule(do=EndStream(3), times=1))
    assert site.stream() == ([1, 2, 3], grpc.StatusCode.OK)
    assert site.metadata.ended.wait(DEADLINE_S)
    assert site.metadata.sent == 3
    assert site.stream()[0] == list(range(1, 11))


def test_end_stream_may_end_with_a_status(site: Site) -> None:
    """A stream that breaks in the middle must be resumed by its reader."""
    site.faults.add(FaultRule(do=EndStream(2, Code.ABORTED)))
    assert site.stream() == ([1, 2], grpc.StatusCode.ABORTED)


def test_a_stream_that_is_shorter_ends_as_it_would_have(site: Site) -> None:
    """The rule asks for a break at a message that never comes."""
    site.faults.add(FaultRule(do=EndStream(11, Code.ABORTED)))
    assert site.stream() == (list(range(1, 11)), grpc.StatusCode.OK)


@pytest.mark.parametrize(
    ("rule", "got", "code"),
    [
        (FaultRule(do=Status(Code.INTERNAL)), [], grpc.StatusCode.INTERNAL),
        (FaultRule(do=Delay(0)), list(range(1, 11)), grpc.StatusCode.OK),
        (FaultRule(do=DropReply()), [], grpc.StatusCode.UNAVAILABLE),
        (FaultRule(do=Close("before")), [], grpc.StatusCode.UNAVAILABLE),
        (FaultRule(do=Mutate({"volume_capacity_bytes": 0})), [0] * 10, grpc.StatusCode.OK),
    ],
)
def test_the_other_faults_apply_to_streams(
    site: Site, rule: FaultRule, got: list[int], code: grpc.StatusCode
) -> None:
    """Whatever a rule does to a reply, it does to each message of a stream."""
    site.faults.add(rule)
    assert site.stream() == (got, code)


def test_close_after_a_stream_cuts_when_all_is_sent(site: Site) -> None:
    """The messages may or may not have left; the status does not."""
    site.faults.add(FaultRule(do=Close("after")))
    assert site.stream()[1] is grpc.StatusCode.UNAVAILABLE
    assert site.metadata.sent == 10


def test_crash_ends_the_process_with_the_code_of_a_kill() -> None:
    """In a process of its own: what follows the point is not run, not even exit handlers."""
    script = (
        "import atexit; atexit.register(print, 'handler')\n"
        "from refimpl.wire.faults import Faults\n"
        "faults = Faults.from_yaml('- {id: boom, do: {crash: CreateVolume.after_effect}}')\n"
        "faults.point('CreateVolume.before'); print('before', flush=True)\n"
        "faults.point('CreateVolume.after_effect'); print('after')\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 128 + signal.SIGKILL
    assert ended.stdout == "before\n"
    assert ended.stderr == "refimpl: fault boom: crash at CreateVolume.after_effect\n"
