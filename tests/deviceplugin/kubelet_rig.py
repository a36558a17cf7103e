"""What the tests of the fake kubelet share: plugins that do as they are told, and nothing else."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import grpc

from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.deviceplugin.kubelet import Container, FakeKubelet, Pod
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.wire.client import Channel

__all__ = ["GPU", "NIC", "Scripted", "VirtualClock", "kubelet_folder", "pod", "registration_of"]

GPU, NIC = "example.com/gpu", "example.com/nic"
_uids = itertools.count(1)


@contextlib.contextmanager
def kubelet_folder() -> Iterator[Path]:
    """A folder with a short name; pytest's own may be too deep for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="kub-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pod(limits: dict[str, int] | None = None, **choices: Any) -> Pod:
    """A pod with one container `app`, and a uid of its own; `choices` are Pod's."""
    number = next(_uids)
    container = Container("app", {GPU: 1} if limits is None else limits)
    return Pod(**{"uid": f"uid-{number}", "name": f"pod-{number}", "app": (container,), **choices})


class VirtualClock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@contextlib.contextmanager
def registration_of(
    kubelet: FakeKubelet, connect_s: float = 30.0
) -> Iterator[stubs.RegistrationStub]:
    """A stub at kubelet.sock, connected within that time."""
    with Channel(kubelet.endpoint) as channel:
        channel.wait_ready(connect_s)
        yield stubs.RegistrationStub(cast("grpc.Channel", channel))


class Scripted(ScriptedPlugin):
    """A scripted plugin in the device-plugins folder of the fake kubelet."""

    def __init__(self, folder: Path, name: str = "plugin.sock", resource: str = GPU) -> None:
        super().__init__(folder / "device-plugins" / name, resource)

    def enrol(
        self, kubelet: FakeKubelet, timeout: float = 30.0, connect_s: float = 30.0, **fields: Any
    ) -> None:
        """Register with that kubelet. Raises Refused, Unreachable."""
        self.register(kubelet.layout.plugins, timeout, connect_s, **fields)

    def join(self, kubelet: FakeKubelet, *ids: str) -> Scripted:
        """Serve, register, list these devices as healthy, and wait until they have arrived."""
        self.serve()
        self.enrol(kubelet)
        self.send(*ids)
        assert kubelet.wait(lambda: self._arrived(kubelet, ids)), kubelet.notes
        return self

    def _arrived(self, kubelet: FakeKubelet, ids: Sequence[str]) -> bool:
        known = self.resource in kubelet.node().capacity
        return known and {*kubelet.devices(self.resource)} == {*ids}
