"""A container runtime as an implementation: containers are created and not started, and the OCI
config that came of each is read from its verbose status.
"""

from __future__ import annotations

import itertools
import json
import shlex
import uuid
from pathlib import Path
from typing import Any

from conformance.cdi.documents import document
from conformance.cdi.implementation import INJECT, REQUEST, RUNTIME, WATCH
from conformance.cdi.settings import CdiSettings
from conformance.engine.lines import Message
from conformance.engine.options import BadOption
from conformance.engine.pods import POD
from conformance.engine.target import Loss
from conformance.engine.things import FILE, Things
from conformance.engine.verdict import Broken, eventually
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.api.cri_pb2_grpc import ImageServiceStub, RuntimeServiceStub
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.status import Refused

_READY_S = 10.0
_SEEN_S = 5.0
_MARK = "refimpl-mark.example/device"


class Runtime:
    """The runtime behind a CRI socket; raises BadOption, Unreachable."""

    features = frozenset({INJECT, REQUEST, RUNTIME, WATCH})

    def __init__(self, endpoint: str, chosen: CdiSettings, things: Things | None = None) -> None:
        if not chosen.dirs:
            raise BadOption(f"{endpoint}: name what it reads by --cdi-dir, such as /etc/cdi")
        try:
            self.endpoint = Endpoint.parse(endpoint)
        except EndpointError as error:
            raise BadOption(str(error)) from error
        self._directory, self._numbers = Path(chosen.dirs[-1]), itertools.count(1)
        self._channel = Channel(self.endpoint)
        self._cri, self._died = RuntimeServiceStub(self._channel), ""
        self._pod, self._things = "", things or Things()
        try:
            self._channel.wait_ready(_READY_S)
            told = self._cri.Version(pb.VersionRequest())
            self.name, self.version = told.runtime_name, told.runtime_version.lstrip("v")
            self._image = chosen.image or self._any_image()
            self._sandbox = _sandbox(chosen.cgroup_parent)
            self._things.making(POD, self._sandbox.metadata.uid)
            request = pb.RunPodSandboxRequest(config=self._sandbox)
            self._pod = self._cri.RunPodSandbox(request).pod_sandbox_id
        except Refused as error:
            self.close()
            raise Unreachable(f"{endpoint}: it makes no pod: {error}") from error
        except BaseException:
            self.close()
            raise

    def answer(self, act: str, request: Message) -> Message:
        """See Implementation."""
        if act == "open":
            self._settle()
            return {}
        if act == "close":
            return {}
        try:
            return {"config": self._made(self._container(request))}
        except Refused as error:
            return {"error": str(error)}

    def resident(self) -> int:
        """See Implementation: that of a daemon tells nothing."""
        return 0

    def lost(self) -> Loss | None:
        """See Implementation."""
        try:
            self._cri.Version(pb.VersionRequest())
        except (Refused, Unreachable) as error:
            return Loss(f"{self.endpoint}: {error}")
        return None

    def repeat(self, _opened: Message | None, _act: str, request: Message, /) -> str:
        """See Implementation: with crictl, for a pod that is there."""
        config = {
            "metadata": {"name": "refimpl"},
            "image": {"image": self._image},
            "annotations": request.get("annotations", {}),
            "CDI_devices": [{"name": name} for name in request.get("devices", ())],
        }
        text = shlex.quote(json.dumps(config))
        create = f"crictl -r {shlex.quote(str(self.endpoint))} create POD container.json pod.json"
        return f"printf %s {text} > container.json; {create}"

    def close(self) -> None:
        """See Implementation: the pod goes with all its containers."""
        try:
            if self._pod:
                self._cri.StopPodSandbox(pb.StopPodSandboxRequest(pod_sandbox_id=self._pod))
                self._cri.RemovePodSandbox(pb.RemovePodSandboxRequest(pod_sandbox_id=self._pod))
                self._things.gone(POD, self._sandbox.metadata.uid)
        except (Refused, Unreachable):
            pass  # of a runtime that is gone nothing can be removed
        finally:
            self._channel.close()
            self._things.close()

    def _any_image(self) -> str:
        images = ImageServiceStub(self._channel).ListImages(pb.ListImagesRequest()).images
        if not images:
            raise BadOption(
                f"{self.endpoint}: it has no image; pull one, and name it by --cdi-image"
            )
        return str([*images[0].repo_tags, images[0].id][0])

    def _settle(self) -> None:
        """Waits until it has seen the files as they are: it reads them when it is told of a change.

        A device of ours that comes last is found only when everything before it is.
        """
        name = f"m{next(self._numbers)}-{uuid.uuid4().hex[:8]}"
        path = self._directory / f"refimpl-mark-{name}.json"
        self._things.making(FILE, path)
        beside = path.with_name(f".{path.name}.tmp")
        beside.write_text(json.dumps(document(version="0.5.0", kind=_MARK, name=name)))
        beside.rename(path)
        request = self._container({"devices": [f"{_MARK}={name}"], "config": {}})

        def seen() -> bool:
            try:
                return bool(self._made(request))
            except Refused:
                return False

        try:
            eventually(seen, _SEEN_S, f"{self.name} sees a new file in {self._directory}")
        except Broken:
            pass  # the case goes on and finds what is missing
        finally:
            self._things.discard(path)

    def _made(self, config: pb.ContainerConfig) -> Any:
        """The OCI config of a container of that kind, which is gone again; raises Refused."""
        config.metadata.attempt = next(self._numbers)
        request = pb.CreateContainerRequest(
            pod_sandbox_id=self._pod, config=config, sandbox_config=self._sandbox
        )
        id = self._cri.CreateContainer(request).container_id
        try:
            asked = pb.ContainerStatusRequest(container_id=id, verbose=True)
            told = json.loads(self._cri.ContainerStatus(asked).info.get("info") or "{}")
        finally:
            self._cri.RemoveContainer(pb.RemoveContainerRequest(container_id=id))
        if not told.get("runtimeSpec"):
            raise Broken(
                "the verbose status of a container has its OCI config",
                "info with runtimeSpec",
                str(told),
            )
        return told["runtimeSpec"]

    def _container(self, request: Message) -> pb.ContainerConfig:
        """A request for the devices, and for what CRI can say of the config."""
        process = request["config"].get("process") or {}
        pairs = (each.partition("=") for each in process.get("env", ()))
        found = pb.ContainerConfig(
            metadata=pb.ContainerMetadata(name="refimpl"),
            image=pb.ImageSpec(image=self._image),
            command=["/refimpl"],  # never started
            envs=[pb.KeyValue(key=key, value=value.encode()) for key, _, value in pairs],
            CDI_devices=[pb.CDIDevice(name=name) for name in request["devices"]],
            annotations=request.get("annotations", {}),
        )
        user = process.get("user") or {}
        if user.get("uid"):
            found.linux.security_context.run_as_user.value = user["uid"]
            found.linux.security_context.run_as_group.value = user["gid"]
        return found


def _sandbox(cgroup_parent: str) -> pb.PodSandboxConfig:
    """A pod in the node's network, for which no plugin is run."""
    found = pb.PodSandboxConfig(
        metadata=pb.PodSandboxMetadata(
            name="refimpl-cdi", namespace="refimpl", uid=str(uuid.uuid4())
        )
    )
    found.linux.cgroup_parent = cgroup_parent
    found.linux.security_context.namespace_options.network = pb.NODE
    return found
