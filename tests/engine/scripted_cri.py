"""A CRI server that knows pods and nothing else, and a run against it that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Journal
from refimpl.wire.server import Server
from refimpl.wire.status import Code, Refused

__all__ = ["ScriptedCri", "killed", "running"]


class ScriptedCri:
    """`pods`: the metadata of those there are, by id. `ending`: what has to work when one stops."""

    def __init__(self, folder: Path) -> None:
        self.pods: dict[str, Any] = {}
        self.ending: Callable[[], object] = lambda: None
        self.conf_dir, self.bin_dir = folder / "net.d", folder / "bin"
        for each in (self.conf_dir, self.bin_dir):
            each.mkdir()
        named = pb.DESCRIPTOR.services_by_name
        services = {named["RuntimeService"]: self, named["ImageService"]: self}
        self._server = Server(services, journal=Journal(), faults=Faults())
        self.target = f"unix://{folder}/cri.sock"

    def __enter__(self) -> Self:
        self._server.start(Endpoint.parse(self.target))
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def Version(self, _request: Any, _call: Any) -> Any:
        """Ours."""
        return pb.VersionResponse(runtime_name="scripted", runtime_version="v1")

    def Status(self, _request: Any, _call: Any) -> Any:
        """Ready, with its folders."""
        ready = pb.RuntimeStatus(conditions=[pb.RuntimeCondition(type="NetworkReady", status=True)])
        about = {"PluginConfDir": str(self.conf_dir), "PluginDirs": [str(self.bin_dir)]}
        return pb.StatusResponse(status=ready, info={"cniconfig": json.dumps(about)})

    def ListImages(self, _request: Any, _call: Any) -> Any:
        """One."""
        return pb.ListImagesResponse(images=[pb.Image(id="pause")])

    def RunPodSandbox(self, request: Any, _call: Any) -> Any:
        """Without any network."""
        id = f"sandbox{len(self.pods) + 1}"
        self.pods[id] = request.config.metadata
        return pb.RunPodSandboxResponse(pod_sandbox_id=id)

    def ListPodSandbox(self, _request: Any, _call: Any) -> Any:
        """All of them."""
        items = [pb.PodSandbox(id=id, metadata=about) for id, about in self.pods.items()]
        return pb.ListPodSandboxResponse(items=items)

    def StopPodSandbox(self, _request: Any, _call: Any) -> Any:
        """Refused where `ending` fails."""
        try:
            self.ending()
        except (OSError, subprocess.CalledProcessError) as error:
            raise Refused(Code.UNKNOWN, f"its network stays: {error}") from error
        return pb.StopPodSandboxResponse()

    def RemovePodSandbox(self, request: Any, _call: Any) -> Any:
        """Takes it away."""
        del self.pods[request.pod_sandbox_id]
        return pb.RemovePodSandboxResponse()


@contextmanager
def running(script: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has come to the end of the script, and stays there; killed at the end."""
    text = f"{script}\nprint('there', flush=True)\nimport threading; threading.Event().wait()\n"
    command = [sys.executable, "-c", text, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        guard = threading.Timer(60, process.kill)
        guard.start()
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "there\n"
            yield process
        finally:
            guard.cancel()
            process.send_signal(signal.SIGKILL)


def killed(script: str, *words: str) -> None:
    """The same, killed there."""
    with running(script, *words) as process:
        pass
    assert process.returncode == -signal.SIGKILL
