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
from conformance.engine.ledger import pods
from conformance.engine.ledger.entries import FILE, Ledger
from conformance.engine.options import BadOption
from conformance.engine.targets.lines import Message
from conformance.engine.targets.target import Loss
from conformance.engine.verdict import Broken, soon
from refimpl.cri import kubelet
from refimpl.cri.api.cri_pb2 import ContainerConfig
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Refused

_READY_S = 10.0
_SEEN_S = 5.0
_MARK = "refimpl-mark.example/device"


class CriImplementation:
    """The runtime behind a CRI socket; raises BadOption, Unreachable."""

    features = frozenset({INJECT, REQUEST, RUNTIME, WATCH})

    def __init__(self, endpoint: str, chosen: CdiSettings, ledger: Ledger | None = None) -> None:
        if not chosen.dirs:
            raise BadOption(f"{endpoint}: name what it reads by --cdi-dir, such as /etc/cdi")
        self._directory, self._numbers = Path(chosen.dirs[-1]), itertools.count(1)
        self._cri, self._ledger = pods.connect(endpoint, ready_s=_READY_S), ledger or Ledger()
        self.endpoint = self._cri.endpoint
        self.name, self.version = self._cri.runtime_name, self._cri.runtime_version
        self._sandbox = kubelet.sandbox_config(
            *("refimpl-cdi", "refimpl"),
            labels={},  # not kubelet's, which removes what bears its own
            cgroup_parent=chosen.cgroup_parent,
            host_network=True,  # for which no plugin is run
        )
        self._sandbox_id = ""
        try:
            self._image = chosen.image or self._any_image()
            self._ledger.making(pods.POD, self._sandbox.metadata.uid)
            self._sandbox_id = self._cri.run_pod_sandbox(self._sandbox)
        except Refused as error:
            self.close()
            raise Unreachable(f"{endpoint}: it makes no pod: {error}") from error
        except BaseException:
            self.close()
            raise

    def answer(self, act: str, request: Message) -> Message:
        """The reply to one act, an object; what the runtime refuses is its `error`."""
        if act == "open":
            self._settle()
            return {}
        if act == "close":
            return {}
        try:
            return {"config": self._oci_config(self._container(request))}
        except Refused as error:
            return {"error": str(error)}

    def resident(self) -> int:
        """0: the memory of a daemon tells nothing of one act."""
        return 0

    def lost(self) -> Loss | None:
        """Why it does not answer any more; None while it does."""
        try:
            self._cri.version()
        except (Refused, Unreachable) as error:
            return Loss(f"{self.endpoint}: {error}")
        return None

    def repeat(self, _opened: Message | None, _act: str, request: Message, /) -> str:
        """The line of crictl that makes the container, for a pod that is there."""
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
        """Removes the pod with all its containers, and hangs up."""
        try:
            if self._sandbox_id:
                self._cri.stop_pod_sandbox(self._sandbox_id)
                self._cri.remove_pod_sandbox(self._sandbox_id)
                self._ledger.gone(pods.POD, self._sandbox.metadata.uid)
        except (Refused, Unreachable):
            pass  # of a runtime that is gone nothing can be removed
        finally:
            self._cri.close()
            self._ledger.close()

    def _any_image(self) -> str:
        images = self._cri.list_images()
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
        self._ledger.making(FILE, path)
        beside = path.with_name(f".{path.name}.tmp")
        beside.write_text(json.dumps(document(version="0.5.0", kind=_MARK, name=name)))
        beside.rename(path)
        request = self._container({"devices": [f"{_MARK}={name}"], "config": {}})

        def seen() -> bool:
            try:
                return bool(self._oci_config(request))
            except Refused:
                return False

        try:
            soon(seen, _SEEN_S)  # in vain, the case goes on and finds what is missing
        finally:
            self._ledger.discard(path)

    def _oci_config(self, config: ContainerConfig) -> Any:
        """That of a container of this kind, which is gone again; raises Refused."""
        config.metadata.attempt = next(self._numbers)
        container_id = self._cri.create_container(self._sandbox_id, config, self._sandbox)
        try:
            info = kubelet.info_of(self._cri.container_status(container_id, verbose=True))
        finally:
            self._cri.remove_container(container_id)
        if not info.get("runtimeSpec"):
            raise Broken(
                "the verbose status of a container has its OCI config",
                "info with runtimeSpec",
                str(info),
            )
        return info["runtimeSpec"]

    def _container(self, request: Message) -> ContainerConfig:
        """A request for the devices, and for what CRI can say of the config."""
        process = request["config"].get("process") or {}
        user = process.get("user") or {}
        pairs = (each.partition("=") for each in process.get("env", ()))
        return kubelet.container_config(
            *("refimpl", self._image),
            command=["/refimpl"],  # never started
            env=[(key, value) for key, _, value in pairs],
            cdi_devices=request["devices"],
            annotations=request.get("annotations", {}),
            user=user["uid"] if user.get("uid") else None,
            group=user["gid"] if user.get("uid") else None,
        )
