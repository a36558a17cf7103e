"""`refimpl proxy` stands before any server, and says so when there is none."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from click.testing import CliRunner

from refimpl.cli.proxy import command
from refimpl.csi.api import csi_pb2 as csi
from refimpl.csi.api import csi_pb2_grpc as stubs
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.server import Call, Server

DEADLINE_S = 30.0


class Identity:
    """A driver of which only the name matters."""

    def GetPluginInfo(
        self, request: csi.GetPluginInfoRequest, call: Call
    ) -> csi.GetPluginInfoResponse:
        return csi.GetPluginInfoResponse(name="behind.example", vendor_version="1")


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Path]:
    """The socket of a running server."""
    path = tmp_path / "behind.sock"
    with Server({csi.DESCRIPTOR.services_by_name["Identity"]: Identity()}) as server:
        server.start(Endpoint.parse(path))
        yield path


@contextmanager
def proxied(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, once it is ready; and the endpoint that it printed."""
    program = [sys.executable, "-m", "refimpl", "proxy", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("ready "), process.communicate()
            yield process, line.removeprefix("ready ").strip()
        finally:
            process.kill()


def plugin(endpoint: str) -> csi.GetPluginInfoResponse:
    """What the driver behind the endpoint says of itself."""
    options = [("grpc.default_authority", "localhost")]
    with grpc.insecure_channel(endpoint.replace("tcp://", ""), options) as channel:
        stub = stubs.IdentityStub(channel)
        return stub.GetPluginInfo(csi.GetPluginInfoRequest(), timeout=DEADLINE_S)


def test_calls_pass_and_rules_apply(behind: Path, tmp_path: Path) -> None:
    """The schemas are loaded, so that replies can be changed and the journal is readable."""
    rules, journal, front = (tmp_path / n for n in ("r.yaml", "calls.jsonl", "front.sock"))
    rules.write_text(
        "- {id: lie, when: {method: /csi.v1.Identity/GetPluginInfo, nth: 2},"
        " do: {mutate: {name: other.example}}}\n"
    )
    words = [str(front), str(behind), "--faults", str(rules), "--journal", str(journal)]
    with proxied(*words, "--control", str(tmp_path / "ctl.sock")) as (process, endpoint):
        assert endpoint == f"unix://{front}"
        assert (tmp_path / "ctl.sock").exists()
        assert [plugin(endpoint).name for _ in range(2)] == ["behind.example", "other.example"]
        process.terminate()
        out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out, err) == (0, "", "")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [line["replies"][0]["name"] for line in lines] == ["behind.example", "other.example"]
    assert [(line["side"], line["fault"]) for line in lines] == [("proxy", None), ("proxy", "lie")]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "behind.sock",
        "calls.jsonl",
        "r.yaml",
    ]


def test_a_port_may_stand_before_a_socket(behind: Path) -> None:
    """From another machine's point of view: a tunnel, on loopback."""
    with proxied("tcp://127.0.0.1:0", str(behind)) as (_, endpoint):
        assert plugin(endpoint).name == "behind.example"


@pytest.mark.parametrize(
    ("upstream", "message"),
    [
        ("nobody.sock", "there is no such file"),
        ("file", "the file is no socket"),
        ("tcp://127.0.0.1:1", "nobody listens there"),
    ],
)
def test_an_upstream_that_is_not_there_is_exit_code_6(
    upstream: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence instead of a proxy before nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(command, ["front.sock", upstream, "--wait", "0"])
    assert result.exit_code == 6
    assert message in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["unix://x/y", "behind.sock"], "write unix:/// with three slashes"),
        (["front.sock", "ctl:x"], "is of no known form"),
        (["behind.sock", "behind.sock"], "a live socket is never taken over"),
        (["dns:///x:1", "behind.sock"], "bind tcp://host:port"),
        (["front.sock", "behind.sock", "--control", "tcp://0.0.0.0:0"], "open to other machines"),
        (["front.sock", "behind.sock", "--faults", "none"], "--faults none: No such file"),
        (["front.sock", "behind.sock", "--faults", "crash.yaml"], "a proxy has no crash points"),
        (["front.sock", "behind.sock", "--journal", "."], "--journal .: Is a directory"),
        (["front.sock"], "Missing argument 'UPSTREAM'"),
    ],
)
def test_a_wrong_word_is_one_sentence(
    words: list[str],
    message: str,
    behind: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever was wrong, nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crash.yaml").write_text("- do: {crash: CreateVolume.after_effect}\n")
    result = CliRunner().invoke(command, words)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (2, 4)  # click's own findings become 4 in the program
    assert message in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [behind.name, "crash.yaml"]


def test_the_help_has_examples() -> None:
    """One can begin by copying."""
    result = CliRunner().invoke(command, ["--help"])
    assert result.exit_code == 0
    assert "refimpl proxy /tmp/csi.sock unix:///run/driver/csi.sock" in result.stdout
