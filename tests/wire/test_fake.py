"""A fake is there inside its block, with journal, faults and control, and gone after it."""

import http.client
import json
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import ServiceDescriptor

from refimpl.csi.api import csi_pb2, csi_pb2_grpc
from refimpl.wire.client import Channel
from refimpl.wire.control import Route
from refimpl.wire.endpoint import Endpoint, EndpointError, probe
from refimpl.wire.fake import Fake
from refimpl.wire.faults import FaultError, FaultRule, Faults, Status
from refimpl.wire.journal import Journal
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused


class Identity:
    """Answers Probe."""

    def Probe(self, _request: csi_pb2.ProbeRequest, _call: Call) -> csi_pb2.ProbeResponse:
        return csi_pb2.ProbeResponse()


class Small(Fake):
    """The smallest fake there is, with a route of its own."""

    def services(self) -> Mapping[ServiceDescriptor, object]:
        return {csi_pb2.DESCRIPTOR.services_by_name["Identity"]: Identity()}

    def routes(self) -> Mapping[str, Route]:
        return {"POST /health": lambda body: {"seen": body}}


def call(fake: Fake) -> csi_pb2.ProbeResponse:
    with Channel(fake.endpoint) as channel:
        reply: csi_pb2.ProbeResponse = csi_pb2_grpc.IdentityStub(channel).Probe(
            csi_pb2.ProbeRequest()
        )
    return reply


def ask(control: Endpoint, method: str, path: str, body: str = "") -> Any:
    """One request to a control socket."""
    connection = http.client.HTTPConnection("refimpl")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(control.path)
    try:
        connection.request(method, path, body)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def test_a_fake_without_endpoint_lives_in_a_private_directory_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one-liner of a unit test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Small() as fake:
        assert call(fake) == csi_pb2.ProbeResponse()
        (directory,) = tmp_path.iterdir()
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert os.listdir(directory) == ["fake.sock"]
        assert [entry.rpc for entry in fake.journal.entries] == ["Probe"]
    assert list(tmp_path.iterdir()) == []
    assert [t for t in threading.enumerate() if t.name.startswith("refimpl")] == []


@pytest.mark.parametrize("spelling", [str, Path, Endpoint.parse])
def test_a_fake_listens_where_it_is_told(tmp_path: Path, spelling: Any) -> None:
    """And does not remove a directory that is not its own."""
    fake = Small(spelling(str(tmp_path / "s")))
    assert fake.endpoint.path == str(tmp_path / "s")
    with fake:
        assert call(fake) == csi_pb2.ProbeResponse()
    assert list(tmp_path.iterdir()) == []


def test_an_endpoint_that_only_the_start_can_tell_is_not_guessed() -> None:
    """None would travel on and fail somewhere else."""
    with pytest.raises(RuntimeError, match="Small has no endpoint before it is started"):
        Small().endpoint  # noqa: B018


def test_a_tcp_port_is_chosen_and_told() -> None:
    """Clients in containers cannot use a path of the host."""
    fake = Small("tcp://127.0.0.1:0")
    assert fake.start() == fake.endpoint
    assert fake.endpoint.port > 0
    fake.stop()
    fake.stop()


def test_a_fake_can_be_started_again_with_the_same_record(tmp_path: Path) -> None:
    """A restarted driver, seen by the same test."""
    fake = Small(journal=tmp_path / "calls.jsonl")
    for _ in range(2):
        with fake:
            call(fake)
    assert len(fake.journal.entries) == 2
    assert len((tmp_path / "calls.jsonl").read_text().splitlines()) == 2


def test_starting_twice_is_an_error(tmp_path: Path) -> None:
    """The first server would be lost."""
    with Small(tmp_path / "s") as fake, pytest.raises(RuntimeError, match="already: stop it"):
        fake.start()


def test_a_given_journal_is_shared_and_brought_up_to_date(tmp_path: Path) -> None:
    """A node of several fakes keeps one record, and closes it itself."""
    path = tmp_path / "calls.jsonl"
    with Journal(path) as journal:
        for _ in range(2):
            with Small(journal=journal) as fake:
                call(fake)
        assert len(path.read_text().splitlines()) == 2


def test_faults_hit_its_calls() -> None:
    """And they are known to fit before anything listens."""
    faults = Faults([FaultRule(do=Status(code=Code.ABORTED, message="later"))])
    with Small(faults=faults) as fake, pytest.raises(Refused, match="ABORTED: later"):
        call(fake)


def test_a_fault_for_no_service_of_the_fake_is_refused_at_the_start(tmp_path: Path) -> None:
    """A misspelt method would otherwise look like a client that survives everything."""
    fake = Small(
        tmp_path / "s", faults=Faults([FaultRule(method="Prob", do=Status(code=Code.ABORTED))])
    )
    with pytest.raises(FaultError, match="Prob"):
        fake.start()
    assert list(tmp_path.iterdir()) == []


def test_the_control_socket_has_journal_faults_and_the_routes_of_the_fake(tmp_path: Path) -> None:
    """Clients in other languages steer the fake through it."""
    control = Endpoint.parse(tmp_path / "ctl")
    with Small(control=control) as fake:
        assert fake.control is not None
        assert fake.control.endpoint == control
        call(fake)
        assert ask(control, "GET", "/journal")["method"] == "/csi.v1.Identity/Probe"
        assert ask(control, "POST", "/health", '{"ok": false}') == {"seen": {"ok": False}}
    assert list(tmp_path.iterdir()) == []


def test_a_start_that_fails_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control endpoint is bound last, and may be taken."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "ctl").write_text("in the way")
    fake = Small(control=tmp_path / "ctl")
    with pytest.raises(EndpointError, match="is no socket"):
        fake.start()
    assert os.listdir(tmp_path) == ["ctl"]


def test_two_fakes_do_not_share_a_path(tmp_path: Path) -> None:
    """The second is refused, and its stop does not harm the first."""
    with Small(tmp_path / "s") as first:
        with pytest.raises(EndpointError, match="another server listens"):
            Small(tmp_path / "s").start()
        assert probe(first.endpoint) == "live"
        assert call(first) == csi_pb2.ProbeResponse()


def test_a_fake_must_say_what_it_serves() -> None:
    """The base alone is none."""
    with pytest.raises(TypeError, match="services"):
        Fake()  # type: ignore[abstract]
