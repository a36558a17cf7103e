"""How gRPC waits for replies."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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
    kept = {key: value for key, value in os.environ.items() if key != polling.VARIABLE}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**kept, **env},
        capture_output=True,
        text=True,
        check=True,
    )


def test_calls_work_and_grpc_knows_the_choice() -> None:
    """A name that this grpcio does not know would be an error message in every run."""
    done = _run()
    assert done.stdout.splitlines()[0] == "csi.refimpl.example"
    assert "event_engine" not in done.stderr


def test_the_choice_of_the_user_stands() -> None:
    """They may have a reason that we do not know."""
    done = _run(GRPC_EXPERIMENTS="event_engine_client")
    assert done.stdout.splitlines()[1] == "event_engine_client"


def test_nothing_is_chosen_once_grpc_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would only confuse the processes that are started later."""
    monkeypatch.delenv(polling.VARIABLE, raising=False)
    polling.poll_in_the_caller()
    assert polling.VARIABLE not in os.environ
