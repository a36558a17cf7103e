"""`refimpl serve` says when it is ready, ends when asked to, and leaves nothing behind."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast, get_args

import grpc
import pytest
from click.testing import CliRunner

from refimpl.cli.foreground import interruption
from refimpl.cli.main import command as group
from refimpl.cli.serve import CRI_MODELS, CRI_PROFILES, PERSONAS, WAYS, command
from refimpl.cri import models
from refimpl.cri.api import cri_pb2 as cri
from refimpl.cri.kubelet import connect
from refimpl.cri.state import settings as profiles
from refimpl.csi.api import csi_pb2 as csi
from refimpl.csi.api import csi_pb2_grpc as stubs
from refimpl.deviceplugin.api.deviceplugin_pb2 import Empty
from refimpl.deviceplugin.api.deviceplugin_pb2_grpc import DevicePluginStub
from refimpl.deviceplugin.fake import Register
from refimpl.deviceplugin.plugin import personas
from refimpl.registration.api.registration_pb2 import InfoRequest
from refimpl.registration.api.registration_pb2_grpc import RegistrationStub
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.status import Refused

DEADLINE_S = 30.0


@contextmanager
def served(*words: str, interface: str = "csi") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, once it is ready; and the endpoint that it printed."""
    # A shell has its background jobs ignore some signals, and those hand that on.
    heeding = ("env", "--default-signal=INT,HUP")
    program = [*heeding, sys.executable, "-m", "refimpl", "serve", interface, *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("ready "), process.communicate()
            yield process, line.removeprefix("ready ").strip()
        finally:
            process.kill()


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder for sockets with long names; pytest's own is too deep for them."""
    with tempfile.TemporaryDirectory(prefix="dp-") as folder:
        yield Path(folder)


def plugin_name(endpoint: str) -> str:
    """The name that the driver at the endpoint gives."""
    options = [("grpc.default_authority", "localhost")]
    with grpc.insecure_channel(endpoint.replace("tcp://", ""), options) as channel:
        stub = stubs.IdentityStub(channel)
        return stub.GetPluginInfo(csi.GetPluginInfoRequest(), timeout=DEADLINE_S).name


def ask(path: Path, method: str, url: str, body: str = "") -> tuple[int, str]:
    """One request to a control socket."""
    connection = http.client.HTTPConnection("refimpl")
    connection.sock = socket.socket(socket.AF_UNIX)
    with connection.sock:
        connection.sock.connect(str(path))
        connection.request(method, url, body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    """Ready on one line, an answer, exit code 0, and an empty directory."""
    where = tmp_path / "csi.sock"
    with served(str(where)) as (process, endpoint):
        assert endpoint == f"unix://{where}"
        assert plugin_name(endpoint)
        process.send_signal(number)
        out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out, err) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_free_port_is_chosen_and_printed() -> None:
    """Parallel CI jobs on one machine cannot agree on a number."""
    with served("tcp://127.0.0.1:0") as (_, endpoint):
        assert int(endpoint.rpartition(":")[2]) > 0
        assert plugin_name(endpoint)


def test_choices_reach_the_driver(tmp_path: Path) -> None:
    """Profile, revision, nodes, capabilities and single settings."""
    words = ["--revision", "1.12", "--profile", "topology", "--nodes", "2"]
    words += ["--without", "EXPAND_VOLUME", "--set", "attach_limit=3"]
    with served(str(tmp_path / "csi.sock"), *words) as (_, endpoint):
        assert (tmp_path / "csi-1.sock").exists()
        with grpc.insecure_channel(endpoint, [("grpc.default_authority", "localhost")]) as channel:
            node = stubs.NodeStub(channel)
            info = node.NodeGetInfo(csi.NodeGetInfoRequest(), timeout=DEADLINE_S)
            capabilities = stubs.ControllerStub(channel).ControllerGetCapabilities(
                csi.ControllerGetCapabilitiesRequest(), timeout=DEADLINE_S
            )
    assert info.max_volumes_per_node == 3
    assert info.accessible_topology.segments
    offered = {capability.rpc.type for capability in capabilities.capabilities}
    assert csi.ControllerServiceCapability.RPC.CREATE_DELETE_VOLUME in offered
    assert csi.ControllerServiceCapability.RPC.EXPAND_VOLUME not in offered


def test_a_driver_is_found_by_a_kubelet(short: Path) -> None:
    """Without a sidecar; and gone from its folder when it ends."""
    registry = short / "plugins_registry"
    with served(str(short / "csi.sock"), "--register", str(registry)) as (process, _):
        (socket,) = registry.iterdir()
        with Channel(Endpoint.parse(socket)) as channel:
            stub = RegistrationStub(cast("grpc.Channel", channel))
            info = stub.GetInfo(InfoRequest(), timeout=DEADLINE_S)
        assert (info.type, info.endpoint) == ("CSIPlugin", str(short / "csi.sock"))
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
    assert list(registry.iterdir()) == []


def test_a_runtime_is_served_and_steered(tmp_path: Path) -> None:
    """Profile and images are as chosen, and what happens to it comes over the control socket."""
    control = tmp_path / "ctl.sock"
    words = ["--profile", "crio", "--handler", "kata", "--image", "example.com/a:1"]
    words += ["--set", "runtime.name=mine", "--control", str(control)]
    with served(str(tmp_path / "cri.sock"), *words, interface="cri") as (process, endpoint):
        with connect(endpoint) as runtime:
            assert runtime.runtime_name == "mine"
            assert [each.name for each in runtime.status().runtime_handlers] == ["", "kata"]
            assert runtime.image_status("example.com/a:1")
            body = json.dumps({"condition": "NetworkReady", "reason": "CniGone"})
            assert ask(control, "POST", "/ready", body)[0] == 200
            (network,) = (each for each in runtime.status().status.conditions if each.reason)
            assert (network.type, network.status) == ("NetworkReady", False)
            assert ask(control, "POST", "/exit", json.dumps({"container_id": "x"}))[0] == 400
            with pytest.raises(Refused, match="CheckpointPod"):
                runtime.runtime.CheckpointPod(cri.CheckpointPodRequest())
        process.terminate()
        assert process.wait(DEADLINE_S) == 0


def test_faults_journal_and_control_work_together(tmp_path: Path) -> None:
    """What a client in another language needs: break it, look at it, mend it."""
    rules, journal, control = (tmp_path / n for n in ("rules.yaml", "calls.jsonl", "ctl.sock"))
    rules.write_text("- {id: off, when: {method: GetPluginInfo}, do: {status: UNAVAILABLE}}\n")
    words = ["--faults", str(rules), "--journal", str(journal), "--control", str(control)]
    with served(str(tmp_path / "csi.sock"), *words) as (process, endpoint):
        with pytest.raises(grpc.RpcError, match="fault off"):
            plugin_name(endpoint)
        assert ask(control, "DELETE", "/faults/off")[0] == 200
        assert plugin_name(endpoint)
        assert len(ask(control, "GET", "/journal?method=GetPluginInfo")[1].splitlines()) == 2
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [(line["code"], line["fault"]) for line in lines] == [
        ("UNAVAILABLE", "off"),
        ("OK", None),
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls.jsonl", "rules.yaml"]


def test_a_rule_over_the_control_socket_is_checked_against_the_driver(tmp_path: Path) -> None:
    """A method that the driver does not have is a mistake of the one who steers."""
    control = tmp_path / "ctl.sock"
    with served(str(tmp_path / "csi.sock"), "--control", str(control)):
        status, body = ask(control, "POST", "/faults", "{when: {method: CreateVolum}, do: hang}")
    assert status == 400
    assert "did you mean CreateVolume?" in json.loads(body)["error"]


def test_a_crash_leaves_the_journal_complete(tmp_path: Path) -> None:
    """The driver dies as by `kill -9`; the record of what it was asked does not."""
    rules, journal = tmp_path / "rules.yaml", tmp_path / "calls.jsonl"
    rules.write_text("- do: {crash: DeleteVolume.after_effect}\n")
    words = ["--faults", str(rules), "--journal", str(journal)]
    with served(str(tmp_path / "csi.sock"), *words) as (process, endpoint):
        assert plugin_name(endpoint)
        with grpc.insecure_channel(endpoint, [("grpc.default_authority", "localhost")]) as channel:
            stub = stubs.ControllerStub(channel)
            with pytest.raises(grpc.RpcError) as caught:
                stub.DeleteVolume(csi.DeleteVolumeRequest(volume_id="v"), timeout=DEADLINE_S)
        assert process.wait(DEADLINE_S) == 128 + signal.SIGKILL
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert len(journal.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dra", "x.sock"], "No such command 'dra'"),
        (["cri"], "Missing argument 'ENDPOINT'"),
        (["cri", "x.sock", "--profile", "docker"], "'docker' is not one"),
        (["cri", "x.sock", "--model", "vm"], "'vm' is not one of 'virtual', 'subprocess'"),
        (["cri", "x.sock", "--set", "sandboxes.x=1"], "there is no setting 'sandboxes.x'"),
        (["cri", "x.sock", "--image", "A B"], "'A B': "),
        (["cri", "x.sock", "--model-option", "x"], "--model-option x: write NAME=VALUE"),
        (["cri", "x.sock", "--model-option", "x=1"], "no option x=1"),
        (["csi"], "Missing argument 'ENDPOINT'"),
        (["csi", "unix://host/x"], "write unix:/// with three slashes"),
        (["csi", "x" * 200], "a unix socket's path has at most 107"),
        (["csi", "tcp://0.0.0.0:0"], "open to other machines"),
        (["csi", "x.sock", "--profile", "nfs"], "there is no profile 'nfs'"),
        (["csi", "x.sock", "--revision", "1.0"], "there is no revision '1.0'"),
        (["csi", "x.sock", "--nodes", "0"], "--nodes"),
        (["csi", "x.sock", "--set", "attach_limit"], "--set attach_limit: write NAME=VALUE"),
        (["csi", "x.sock", "--set", "attach_limi=1"], "attach_limi"),
        (["csi", "x.sock", "--without", "FLYING"], "FLYING"),
        (["csi", "x.sock", "--faults", "none.yaml"], "--faults none.yaml: No such file"),
        (["csi", "x.sock", "--faults", "wrong.yaml"], "--faults wrong.yaml: line 1: rule number 1"),
        (["csi", "x.sock", "--faults", "strange.yaml"], "fits no RPC served"),
        (["csi", "x.sock", "--faults", "/dev/zero"], "--faults /dev/zero: "),
        (["csi", "x.sock", "--journal", "no/calls.jsonl"], "--journal no/calls.jsonl: No such"),
        (["csi", "x.sock", "--control", "ctl://x"], "is of no known form"),
        (["csi", "x.sock", "--control", "wrong.yaml"], "the path exists and is no socket"),
        (["csi", "wrong.yaml"], "the path exists and is no socket"),
        (["csi", "x.sock", "--state-dir", "wrong.yaml"], "wrong.yaml"),
        (["csi", "x.sock", "--targets-below", "none"], "none: there is no such directory"),
        (["csi", "x.sock", "--register", "/dev/null"], "File exists: '/dev/null'"),
        (["csi", "tcp://127.0.0.1:0", "--register", "d"], "only unix:"),
        (["csi", "x.sock", "--fault", "x"], "No such option"),
        (["deviceplugin", "--dir", "d"], "Missing option '--resource'"),
        (["deviceplugin", "--resource", "a/b"], "Missing option '--dir'"),
        (["deviceplugin", "--resource", "a/b=x", "--dir", "d"], "--resource a/b=x: write NAME"),
        (["deviceplugin", "--resource", "=8", "--dir", "d"], "--resource =8: write NAME=COUNT"),
        (["deviceplugin", "--resource", "a/b", "--dir", "/dev/null"], "Not a directory"),
        (["deviceplugin", "--resource", "a/b", "--dir", "d" * 90], "at most 107"),
        (["deviceplugin", "--resource", "a/b", "--dir", "d", "--persona", "x"], "'x' is not one"),
        (["kubelet"], "Missing option '--dir'"),
        (["kubelet", "--dir", "/dev/null"], "Not a directory"),
        (["kubelet", "--dir", "d", "--profile", "1.2"], "there is no profile '1.2'"),
        (["kubelet", "--dir", "d", "--policy", "best"], "best"),
        (["kubelet", "--dir", "d", "--policy", "restricted", "--nodes", "9"], "9"),
    ],
)
def test_a_wrong_word_is_exit_code_4_and_one_sentence(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scripts tell a mistake of theirs from a driver that fails."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.yaml").write_text("- do: {statu: ABORTED}\n")
    (tmp_path / "strange.yaml").write_text("- {when: {method: CreateVolum}, do: hang}\n")
    result = CliRunner().invoke(group, ["serve", *words])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (2, 4)  # click's own findings become 4 in the program
    assert message in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["strange.yaml", "wrong.yaml"]


def test_a_wrong_word_has_exit_code_4_in_the_program(tmp_path: Path) -> None:
    """What click calls 2 is 4 here, for its own findings and for ours."""
    for words in (["dra", "x"], ["csi", str(tmp_path), "--nodes", "x"], ["csi", str(tmp_path)]):
        program = [sys.executable, "-m", "refimpl", "serve", *words]
        ended = subprocess.run(program, capture_output=True, text=True)
        assert ended.returncode == 4
        assert ended.stdout == ""
        assert "Error: " in ended.stderr


def test_the_help_has_examples() -> None:
    """One can begin by copying."""
    for words in ([], ["csi"], ["cri"], ["deviceplugin"]):
        result = CliRunner().invoke(command, [*words, "--help"])
        assert result.exit_code == 0
        assert f"refimpl serve {(words or ['csi'])[0]} " in result.stdout.partition("Examples:")[2]


def test_a_device_plugin_is_served_and_steered(short: Path) -> None:
    """Its socket is in the folder, and its health changes over the control socket."""
    control = short / "ctl.sock"
    words = ["--resource", "example.com/gpu=3", "--dir", str(short), "--control", str(control)]
    with served(*words, interface="deviceplugin") as (process, endpoint):
        with grpc.insecure_channel(endpoint, [("grpc.default_authority", "localhost")]) as channel:
            watch = DevicePluginStub(channel).ListAndWatch(Empty(), timeout=DEADLINE_S)
            assert [device.ID for device in next(watch).devices] == ["gpu-0", "gpu-1", "gpu-2"]
            body = json.dumps({"id": "gpu-1", "health": "Unhealthy"})
            assert ask(control, "POST", "/health", body)[0] == 200
            assert [device.health[0] for device in next(watch).devices] == ["H", "U", "H"]
        status = json.loads(ask(control, "GET", "/registration")[1])
        assert not status["registered"]
        assert "no kubelet listens at" in status["problem"]
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
    assert list((short / "device-plugins").iterdir()) == []


def test_the_choices_of_the_command_are_those_there_are() -> None:
    """They stand twice so that `--help` need not load the fakes."""
    assert set(PERSONAS) == set(personas.PERSONAS)
    assert CRI_PROFILES == profiles.PROFILES
    assert set(CRI_MODELS) == set(models.MODELS)
    assert set(get_args(Register)) == set(WAYS)


@pytest.mark.parametrize("sender", ["main thread", "another thread"])
def test_an_interruption_is_noticed_and_undone(sender: str) -> None:
    """Python's handlers are its own again afterwards."""
    handler = signal.getsignal(signal.SIGTERM)

    def send() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    run: Callable[[Callable[[], None]], None] = (
        (lambda f: f()) if sender == "main thread" else _in_a_thread
    )
    with interruption() as wait:
        run(send)
        wait()
        assert signal.getsignal(signal.SIGTERM) is not handler
    assert signal.getsignal(signal.SIGTERM) is handler


def _in_a_thread(function: Callable[[], None]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


@pytest.mark.parametrize("log", [b"", b"\0" * 64, b'["format","refimpl-csi",1]\nrubbish\n', None])
def test_a_driver_does_not_start_over_a_log_it_cannot_read(log: bytes | None, short: Path) -> None:
    """Taking it for empty would delete the content of every volume."""
    state = short / "state"
    with served(str(short / "c.sock"), "--state-dir", str(state)) as (process, _):
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
    content = state / "storage" / "homes" / "v" / "data" / "file"
    content.parent.mkdir(parents=True)
    content.write_text("precious")
    file = state / "state.jsonl"
    file.unlink()
    if log is not None:
        file.write_bytes(log)
    words = ["serve", "csi", str(short / "c.sock"), "--state-dir", str(state)]
    ended = subprocess.run([sys.executable, "-m", "refimpl", *words], capture_output=True)
    assert ended.returncode == 4
    assert str(file).encode() in ended.stderr
    assert b"nothing was touched" in ended.stderr
    assert content.read_text() == "precious"
    assert (file.read_bytes() if file.exists() else None) == log
