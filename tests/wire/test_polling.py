"""How gRPC waits for replies, and what it does about forks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from refimpl.csi.fake import FakeDriver
from refimpl.wire import polling

SCRIPT = """
import os
from refimpl.wire.polling import poll_in_the_caller
poll_in_the_caller()
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.fake import FakeDriver
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel
with FakeDriver() as fake, Channel(fake.endpoint) as channel:
    print(Driver.over(channel).identity.GetPluginInfo(pb.GetPluginInfoRequest()).name)
print(os.environ.get("GRPC_EXPERIMENTS", "none"))
"""


def _run(**env: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in polling.VARIABLES}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**environment, **env},
        capture_output=True,
        text=True,
        check=True,
    )


def test_calls_work_and_grpc_knows_the_choice() -> None:
    """A name that this grpcio does not know would be an error message in every run."""
    process = _run()
    assert process.stdout.splitlines()[0] == "csi.refimpl.example"
    assert "event_engine" not in process.stderr


def test_the_choice_of_the_user_stands() -> None:
    """They may have a reason that we do not know."""
    process = _run(GRPC_EXPERIMENTS="event_engine_client")
    assert process.stdout.splitlines()[1] == "event_engine_client"


def test_nothing_is_chosen_once_grpc_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would only confuse the processes that are started later."""
    monkeypatch.delenv("GRPC_EXPERIMENTS", raising=False)
    polling.poll_in_the_caller()
    assert "GRPC_EXPERIMENTS" not in os.environ


FORK = """
import os, subprocess, threading
from refimpl.wire.polling import leave_forks_alone
leave_forks_alone()
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.fake import FakeDriver
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel
with FakeDriver() as fake, Channel(fake.endpoint) as channel:
    identity = Driver.over(channel).identity
    ended = threading.Event()
    def call():
        while not ended.is_set():
            identity.GetPluginInfo(pb.GetPluginInfoRequest())
    caller = threading.Thread(target=call)
    caller.start()
    for _ in range(20):
        subprocess.run(["true"], preexec_fn=lambda: None, check=True)
    ended.set()
    caller.join()
"""


def test_a_fork_is_nothing_to_grpc() -> None:
    """Its complaint would stand between the lines of a report."""
    environment = {key: value for key, value in os.environ.items() if key not in polling.VARIABLES}
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stderr == ""


def test_the_verbosity_of_the_user_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors alone, unless they ask for more."""
    monkeypatch.delenv("GRPC_VERBOSITY", raising=False)
    polling.say_errors_only()
    assert os.environ["GRPC_VERBOSITY"] == "ERROR"
    monkeypatch.setenv("GRPC_VERBOSITY", "DEBUG")
    polling.say_errors_only()
    assert os.environ["GRPC_VERBOSITY"] == "DEBUG"


def test_whoever_waits_for_a_connection_polls_for_it() -> None:
    """With a server in another process nobody else does."""
    text = (
        "import sys\n"
        "from refimpl.wire.polling import poll_in_the_caller\n"
        "poll_in_the_caller()\n"
        "from refimpl.wire.client import Channel\n"
        "from refimpl.wire.endpoint import Endpoint\n"
        "with Channel(Endpoint.parse(sys.argv[1])) as channel:\n"
        "    channel.wait_ready(10)\n"
    )
    with FakeDriver() as fake:
        command = [sys.executable, "-c", text, str(fake.endpoint)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
