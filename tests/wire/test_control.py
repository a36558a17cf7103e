"""Whoever speaks HTTP can steer a running fake, and gets a sentence when something is wrong."""

import contextlib
import errno
import http.client
import json
import shutil
import socket
import socketserver
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refimpl.wire.control import Control
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.faults import Faults
from refimpl.wire.faults.document import LARGEST_TEXT
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.status import Code, Refused


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket, as `curl --unix-socket` speaks it."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__("refimpl", timeout=20)
        self.endpoint = endpoint

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.endpoint.path)


def ask(
    control: Control, method: str, path: str, body: str | bytes = b"", **headers: str
) -> tuple[int, Any]:
    """One request: the status, and the JSON of the answer (of each line for a journal)."""
    assert control.endpoint is not None
    if control.endpoint.kind == "unix":
        connection: http.client.HTTPConnection = UnixConnection(control.endpoint)
    else:
        address = control.endpoint.host, control.endpoint.port
        connection = http.client.HTTPConnection(*address, timeout=20)
    connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    with contextlib.closing(connection), connection.getresponse() as answer:
        text = answer.read()
        if answer.getheader("Content-Type") == "application/x-ndjson":
            return answer.status, [json.loads(line) for line in text.splitlines()]
        return answer.status, json.loads(text)


def curl(control: Control, *words: str) -> str:
    """What the program prints, run as docs/faults.md says."""
    program = shutil.which("curl")
    if program is None:
        pytest.skip("curl is not installed: the same calls are made with http.client")
    assert control.endpoint is not None
    command = [program, "-sS", "--unix-socket", control.endpoint.path, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def health(body: dict[str, Any]) -> dict[str, Any]:
    """A route of a fake that refuses in every way it may."""
    errors = {
        "v404": KeyError("no volume v404"),
        "v400": ValueError("v400 is no id"),
        "v409": Refused(Code.FAILED_PRECONDITION, "v409 is busy"),
        "v500": RuntimeError("oh"),
    }
    if body.get("volume_id") in errors:
        raise errors[body["volume_id"]]
    return {"was": body}


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    """A control endpoint beside three calls and no rules."""
    journal = Journal()
    for name in ("CreateVolume", "CreateVolume", "DeleteVolume"):
        journal.add(Entry(method=f"/csi.v1.Controller/{name}"))
    routes = {"POST /health": health}
    where = Endpoint.parse(tmp_path / "ctl.sock")
    with Control(where, journal=journal, faults=Faults(), routes=routes) as control:
        yield control


def test_it_says_that_it_is_there_and_what_it_can(control: Control) -> None:
    """A script waits for the first and a person asks for the second."""
    assert ask(control, "GET", "/healthz") == (200, {"status": "ok"})
    status, answer = ask(control, "GET", "/")
    assert status == 200
    assert {"GET /journal", "PUT /faults", "POST /health"} <= set(answer["routes"])


def test_rules_are_added_read_replaced_and_removed(control: Control) -> None:
    """YAML and JSON alike."""
    assert ask(control, "POST", "/faults", "- do: {status: ABORTED}\n  when: {times: 2}\n") == (
        200,
        {"ids": ["r1"]},
    )
    assert ask(control, "POST", "/faults", '{"id": "slow", "do": {"delay": 0}}')[1] == {
        "ids": ["slow"]
    }
    control.faults.decide("/a.B/C", None)
    status, answer = ask(control, "GET", "/faults")
    assert status == 200
    assert [rule["id"] for rule in answer["rules"]] == ["r1", "slow"]
    assert answer["counts"]["r1"] == {"seen": 1, "fired": 1, "holding": 0}
    assert ask(control, "DELETE", "/faults/r1") == (200, {})
    assert [rule.id for rule in control.faults.rules] == ["slow"]
    assert ask(control, "PUT", "/faults", json.dumps({"rules": answer["rules"][:1]}))[0] == 200
    assert [rule.to_dict() for rule in control.faults.rules] == answer["rules"][:1]
    assert ask(control, "DELETE", "/faults") == (200, {})
    assert control.faults.rules == ()


def test_a_wrong_rule_changes_nothing_and_is_explained(control: Control) -> None:
    """The client of another language has only this sentence."""
    ask(control, "POST", "/faults", "do: hang")
    status, answer = ask(control, "PUT", "/faults", "- do: {statu: ABORTED}")
    assert status == 400
    assert answer["error"].startswith("line 1: rule number 1: do.statu: is not known, did you mean")
    assert [rule.id for rule in control.faults.rules] == ["r1"]


def test_a_rule_removed_twice_is_not_found(control: Control) -> None:
    """The answer names the rules that there are."""
    assert ask(control, "DELETE", "/faults/r7") == (
        404,
        {"error": "no rule has the id 'r7' (there are: none)"},
    )


def test_the_journal_is_read_as_lines_and_forgotten(control: Control) -> None:
    """All of it, some methods, or what came since; each line is a call."""
    status, lines = ask(control, "GET", "/journal")
    assert status == 200
    assert lines == [entry.to_dict() for entry in control.journal.entries]
    assert len(ask(control, "GET", "/journal?method=Create*")[1]) == 2
    assert [line["seq"] for line in ask(control, "GET", "/journal?since=2")[1]] == [3]
    assert ask(control, "DELETE", "/journal") == (200, {})
    assert ask(control, "GET", "/journal") == (200, [])


def test_an_old_client_gets_the_journal_without_chunks(control: Control) -> None:
    """HTTP/1.0 knows only the end of the connection."""
    assert control.endpoint is not None
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(control.endpoint.path)
        peer.sendall(b"GET /journal HTTP/1.0\r\n\r\n")
        head, _, body = b"".join(iter(lambda: peer.recv(65536), b"")).partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert len(body.splitlines()) == 3


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/journal?glob=x", "/journal takes no glob: method=GLOB and since=SEQ are known"),
        ("/journal?since=x", "invalid literal"),
    ],
)
def test_a_question_that_is_not_understood_is_refused(
    control: Control, path: str, message: str
) -> None:
    """Ignoring it would look like an answer."""
    status, answer = ask(control, "GET", path)
    assert status == 400
    assert message in answer["error"]


def test_a_route_of_the_fake_gets_an_object_and_gives_one(control: Control) -> None:
    """What only this fake can do, such as making a volume sick."""
    assert ask(control, "POST", "/health", '{"volume_id": "v"}') == (
        200,
        {"was": {"volume_id": "v"}},
    )
    assert ask(control, "POST", "/health") == (200, {"was": {}})


@pytest.mark.parametrize(
    ("volume", "status", "message"),
    [
        ("v400", 400, "v400 is no id"),
        ("v404", 404, "no volume v404"),
        ("v409", 409, "FAILED_PRECONDITION: v409 is busy"),
        ("v500", 500, "refimpl: bug: RuntimeError: oh"),
    ],
)
def test_a_route_may_refuse(control: Control, volume: str, status: int, message: str) -> None:
    """Whatever it raises becomes a status and a sentence."""
    answer = ask(control, "POST", "/health", json.dumps({"volume_id": volume}))
    assert answer == (status, {"error": message})


@pytest.mark.parametrize("body", ["[]", "{", "\xff", '"x"'])
def test_a_body_that_is_no_object_is_refused(control: Control, body: str) -> None:
    """Before the route sees it."""
    status, answer = ask(control, "POST", "/health", body)
    assert status == 400
    assert answer["error"].startswith("the body must be a JSON object: ")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/fault", 404),
        ("GET", "/faults/r1", 404),
        ("PATCH", "/faults", 405),
        ("POST", "/journal", 405),
        ("GET", "/health", 405),
    ],
)
def test_what_is_no_route_is_answered_with_those_that_are(
    control: Control, method: str, path: str, status: int
) -> None:
    """Finding one's way without the manual."""
    answered, answer = ask(control, method, path)
    assert answered == status
    assert "GET /healthz" in answer["error"]


def test_a_large_body_is_refused(control: Control) -> None:
    """A steering client is trusted, but a mistake of it must not fill the memory."""
    status, answer = ask(control, "POST", "/faults", b"#" * (LARGEST_TEXT + 1))
    assert status == 413
    assert f"at most {LARGEST_TEXT}" in answer["error"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Transfer_Encoding": "chunked"}, 411),
        ({"Content_Length": "-1"}, 400),
        ({"Content_Length": "9" * 5000}, 413),
    ],
)
def test_a_body_without_a_length_is_refused(
    control: Control, headers: dict[str, str], status: int
) -> None:
    """Nobody knows where it would end."""
    answered, answer = ask(control, "GET", "/faults", **headers)
    assert answered == status
    assert "Content-Length" in answer["error"]


def test_a_crowd_that_says_nothing_does_not_keep_others_from_steering(control: Control) -> None:
    """Whoever forgets to close its connections harms itself."""
    assert control.endpoint is not None
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(100)]
        for caller in crowd:
            caller.settimeout(20)
            caller.connect(control.endpoint.path)
        assert ask(control, "GET", "/healthz") == (200, {"status": "ok"})
        assert crowd[0].recv(1) == b""


def test_what_is_no_http_gets_an_error_in_json(control: Control) -> None:
    """Also the errors of the HTTP layer have the one form."""
    assert control.endpoint is not None
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(control.endpoint.path)
        peer.sendall(b"BREW /faults HTTP/1.1\r\n\r\n")
        head, _, body = b"".join(iter(lambda: peer.recv(65536), b"")).partition(b"\r\n\r\n")
    assert b" 501 " in head.splitlines()[0]
    assert "BREW" in json.loads(body)["error"]


def test_a_body_that_ends_early_is_not_taken_for_a_whole_one(control: Control) -> None:
    """Half a list of rules may well be valid YAML."""
    assert control.endpoint is not None
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(control.endpoint.path)
        peer.sendall(b"PUT /faults HTTP/1.1\r\nContent-Length: 99\r\n\r\n- do: hang\n")
        peer.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: peer.recv(65536), b""))
    assert b"the body ended after 11 of 99 bytes" in answer
    assert control.faults.rules == ()


def test_a_caller_that_hangs_up_is_no_event(
    control: Control, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its answer goes nowhere, and stderr stays for what matters."""
    assert control.endpoint is not None
    for number in range(2000):
        control.journal.add(Entry(method=f"/x.Y/{number:0>200}"))
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(control.endpoint.path)
        peer.sendall(b"GET /journal HTTP/1.1\r\n\r\n")
        assert peer.recv(10)
    control.stop()
    assert capsys.readouterr().err == ""


def test_a_place_that_cannot_be_bound_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason of the system, and for which of the endpoints of a fake."""

    def refuse(_server: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(socketserver.TCPServer, "server_bind", refuse)
    with pytest.raises(EndpointError, match="cannot be bound: Operation not permitted"):
        Control(str(tmp_path / "ctl.sock"), journal=Journal(), faults=Faults()).start()


def test_what_took_its_place_is_not_removed(tmp_path: Path) -> None:
    """Someone moved the socket away, and another file has the name."""
    path = tmp_path / "ctl.sock"
    with Control(str(path), journal=Journal(), faults=Faults()):
        path.rename(tmp_path / "moved.sock")
        path.write_text("mine")
    assert path.read_text() == "mine"


def test_the_socket_is_private_and_goes_with_the_server(tmp_path: Path) -> None:
    """Whoever may open it may steer; nothing stays behind."""
    path = tmp_path / "ctl.sock"
    control = Control(str(path), journal=Journal(), faults=Faults())
    assert control.endpoint is None
    control.start()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(RuntimeError, match="stop it first"):
        control.start()
    control.stop()
    control.stop()
    assert not path.exists()
    assert control.start().path == str(path)
    control.stop()


def test_a_connection_left_open_does_not_outlive_the_server(tmp_path: Path) -> None:
    """A client that keeps its connection must notice that the fake has gone."""
    with Control(str(tmp_path / "ctl.sock"), journal=Journal(), faults=Faults()) as control:
        assert control.endpoint is not None
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(control.endpoint.path)
        ask(control, "GET", "/healthz")  # so the connection before it is accepted, too
    with peer:
        assert peer.recv(1) == b""


def test_a_living_socket_is_not_taken_over(control: Control) -> None:
    """Two fakes must not be steered through one path."""
    assert control.endpoint is not None
    with pytest.raises(EndpointError, match="another server listens there"):
        Control(control.endpoint, journal=Journal(), faults=Faults()).start()


def test_it_listens_on_loopback_but_on_nothing_else() -> None:
    """Steering includes crashing the process: not for the network."""
    with Control("tcp://127.0.0.1:0", journal=Journal(), faults=Faults()) as control:
        assert control.endpoint is not None
        assert control.endpoint.port > 0
        assert ask(control, "GET", "/healthz") == (200, {"status": "ok"})
        with pytest.raises(EndpointError, match="another server listens there"):
            Control(control.endpoint, journal=Journal(), faults=Faults()).start()
    with pytest.raises(EndpointError, match="open to other machines"):
        Control("tcp://0.0.0.0:0", journal=Journal(), faults=Faults()).start()


@pytest.mark.parametrize("headers", [{"Origin": "http://x"}, {"Host": "evil.example:80"}])
def test_a_web_page_cannot_steer(headers: dict[str, str]) -> None:
    """A browser on the same machine reaches loopback, on behalf of any page."""
    with Control("tcp://127.0.0.1:0", journal=Journal(), faults=Faults()) as control:
        status, answer = ask(control, "GET", "/faults", **headers)
    assert status == 403
    assert "not for web pages" in answer["error"]


def test_many_clients_may_steer_at_once(control: Control) -> None:
    """Parallel test workers share one fake."""
    threads = [
        threading.Thread(target=ask, args=(control, "POST", "/faults", "do: {delay: 0}"))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({rule.id for rule in control.faults.rules}) == 20


def test_curl_sends_a_file_of_rules(control: Control, tmp_path: Path) -> None:
    """The command line of the manual."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("- id: busy\n  do:\n    status: RESOURCE_EXHAUSTED\n")
    url = "http://refimpl/faults"
    assert json.loads(curl(control, "-X", "PUT", url, "--data-binary", f"@{rules}")) == {
        "ids": ["busy"]
    }
    assert json.loads(curl(control, url))["rules"][0]["id"] == "busy"
    assert curl(control, "-X", "DELETE", f"{url}/busy") == "{}\n"
    assert len(curl(control, "http://refimpl/journal?method=CreateVolume").splitlines()) == 2


def test_curl_without_line_ends_gets_a_hint(control: Control, tmp_path: Path) -> None:
    """`-d @file` joins the lines of the file, which makes no YAML any more."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("- id: busy\n  do:\n    status: ABORTED\n")
    answer = curl(control, "http://refimpl/faults", "-d", f"@{rules}")
    assert "use --data-binary instead of -d" in json.loads(answer)["error"]
