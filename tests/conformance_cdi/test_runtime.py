"""The suite on a runtime: one of ours in a hundred lines, which injects with our library."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.cdi.documents import OCI, document
from conformance.cdi.runtime import CriImplementation
from conformance.cdi.settings import CdiSettings
from conformance.engine.options import BadOption
from refimpl import cdi
from refimpl.cdi.annotations import requested
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Journal
from refimpl.wire.server import Server
from refimpl.wire.status import Code, Refused


class FakeRuntime:
    """As much of CRI as the target calls; `left` are the pods and containers that are there."""

    def __init__(self, directory: Path, images: tuple[str, ...] = ("pause:1",)) -> None:
        self.images, self.left = images, dict[str, Any]()
        self._cache = cdi.Cache([directory], watched=False)
        self._lock, self._count = threading.Lock(), 0

    def _new(self, kind: str, value: Any) -> str:
        with self._lock:
            self._count += 1
            self.left[f"{kind}{self._count}"] = value
            return f"{kind}{self._count}"

    def Version(self, _request: Any, _call: Any) -> Any:
        """Ours."""
        return pb.VersionResponse(runtime_name="fake-runtime", runtime_version="v1.2.3")

    def ListImages(self, _request: Any, _call: Any) -> Any:
        """The images."""
        return pb.ListImagesResponse(images=[pb.Image(id=each) for each in self.images])

    def RunPodSandbox(self, request: Any, _call: Any) -> Any:
        """In the node's network."""
        assert request.config.linux.security_context.namespace_options.network == pb.NODE
        return pb.RunPodSandboxResponse(pod_sandbox_id=self._new("pod", {}))

    def StopPodSandbox(self, _request: Any, _call: Any) -> Any:
        """Nothing runs."""
        return pb.StopPodSandboxResponse()

    def RemovePodSandbox(self, request: Any, _call: Any) -> Any:
        """Takes it away."""
        del self.left[request.pod_sandbox_id]
        return pb.RemovePodSandboxResponse()

    def CreateContainer(self, request: Any, _call: Any) -> Any:
        """With the devices of the field and of annotations."""
        config = request.config
        env = [f"{each.key}={each.value.decode()}" for each in config.envs]
        whole = {**OCI, "process": {**OCI["process"], "env": env}}
        field = [each.name for each in config.CDI_devices]
        try:
            names = requested(field, config.annotations)
            injected = self._cache.inject(whole, names)
        except (cdi.Unresolved, cdi.InjectError) as error:
            raise Refused(Code.UNKNOWN, str(error)) from error
        return pb.CreateContainerResponse(container_id=self._new("container", injected))

    def ContainerStatus(self, request: Any, _call: Any) -> Any:
        """Verbose."""
        assert request.verbose
        text = json.dumps({"runtimeSpec": self.left[request.container_id]}, default=float)
        return pb.ContainerStatusResponse(info={"info": text})

    def RemoveContainer(self, request: Any, _call: Any) -> Any:
        """Takes it away."""
        del self.left[request.container_id]
        return pb.RemoveContainerResponse()


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeRuntime]:
    """It serves at cri.sock in tmp_path."""
    directory = tmp_path / "cdi"
    directory.mkdir()
    config = FakeRuntime(directory)
    named = pb.DESCRIPTOR.services_by_name
    services = {named["RuntimeService"]: config, named["ImageService"]: config}
    server = Server(services, journal=Journal(), faults=Faults())
    server.start(Endpoint.parse(f"unix://{tmp_path}/cri.sock"))
    yield config
    server.stop()


def _opened(tmp_path: Path) -> CriImplementation:
    chosen = CdiSettings(dirs=[str(tmp_path / "cdi")])
    return CriImplementation(f"unix://{tmp_path}/cri.sock", chosen)


def test_a_container_shows_what_was_injected(fake: FakeRuntime, tmp_path: Path) -> None:
    """And is gone again, as is the pod in the end."""
    runtime = _opened(tmp_path)
    assert (runtime.name, runtime.version) == ("fake-runtime", "1.2.3")
    (tmp_path / "cdi/a.json").write_text(json.dumps(document()))
    assert runtime.answer("open", {}) == {}
    name = "vendor.example/device=a"
    env = ["PATH=/bin", "REFIMPL_DEVICE=a"]
    reply = runtime.answer("inject", {"config": OCI, "devices": [name]})
    assert reply["config"]["process"]["env"] == env
    request = {"config": OCI, "devices": [], "annotations": {"cdi.k8s.io/v_a": name}}
    assert runtime.answer("create", request)["config"]["process"]["env"] == env
    assert list(fake.left) == ["pod1"]
    assert [each.name for each in (tmp_path / "cdi").iterdir()] == ["a.json"]
    assert "crictl" in runtime.repeat(None, "inject", request)
    runtime.close()
    assert fake.left == {}


def test_a_refusal_is_an_error_with_its_text(fake: FakeRuntime, tmp_path: Path) -> None:
    """The name is in it."""
    runtime = _opened(tmp_path)
    reply = runtime.answer("inject", {"config": OCI, "devices": ["a/b=none"]})
    assert "a/b=none" in reply["error"]
    assert runtime.lost() is None
    runtime.close()
    assert fake.left == {}


def test_a_runtime_without_images_is_told_what_to_do(fake: FakeRuntime, tmp_path: Path) -> None:
    """Nothing is pulled: the node may have no network."""
    fake.images = ()
    with pytest.raises(BadOption, match="--cdi-image"):
        _opened(tmp_path)
