"""A kubelet that nobody commands: without an API server, it runs the manifests of one folder."""

from __future__ import annotations

import json
import shutil
import ssl
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from conformance.kubelet.configuration import Ports, kubelet_configuration
from conformance.kubelet.machine import Machine
from conformance.kubelet.program import KubeletProgram, http_get
from refimpl.deviceplugin import illusion
from refimpl.node.choices import KubeletChoices
from refimpl.node.pods import IMAGE
from refimpl.streaming.client import SpdyCommandClient
from refimpl.wire.endpoint import Endpoint
from tests.live.rigs.rig import Rig
from tests.live.rigs.tls_relay import TlsRelay

__all__ = ["StaticKubelet", "manifest"]

_NODE = "n1"


def manifest(name: str, spec: Mapping[str, Any] | None = None, **container: Any) -> dict[str, Any]:
    """A pod on the host's network with one container, which waits; `spec` and `container` add."""
    main = {"name": "main", "image": IMAGE, "imagePullPolicy": "IfNotPresent", **container}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "hostNetwork": True,
            "terminationGracePeriodSeconds": 1,
            "enableServiceLinks": False,
            "containers": [main],
            **(spec or {}),
        },
    }


class StaticKubelet(Rig):
    """One over a runtime at `cri`. `folder` is /var/lib/kubelet to it and `log` what it writes;
    `settings` come last in its configuration."""

    def __init__(
        self, programs: Path, cri: Endpoint, settings: Mapping[str, Any] | None = None
    ) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="static-"))
        self.folder, self._manifests = self._place / "kubelet", self._place / "manifests"
        self.folder.mkdir()
        self._manifests.mkdir()
        self._machine = Machine(self._place / "machine", _NODE)
        self._process = KubeletProgram(str(programs / "kubelet"), self._place)
        self.log, self._ports = self._process.log, Ports.free()
        chosen = {
            "registerNode": False,
            "staticPodPath": str(self._manifests),
            "fileCheckFrequency": "1s",
            **(settings or {}),
        }
        self._config = self._place / "kubelet.json"
        self._config.write_text(
            kubelet_configuration(KubeletChoices(), self._ports, str(cri), self._place, chosen)
        )

    def start(self) -> Self:
        """Starts it and waits until it answers."""
        program = self._process.name
        command = [program, "--config", str(self._config), "--root-dir", illusion.REAL]
        words = [*command, "--hostname-override", _NODE]
        self._process.start(self._machine.words(self.folder, words))
        self.until(lambda: self._get("/healthz") == "ok", "kubelet is healthy", 60)
        return self

    def restart(self) -> Self:
        """Kills it and starts it again; pods outlive that."""
        self._process.end(kill=True)
        return self.start()

    def running(self) -> bool:
        """Whether it is alive."""
        return self._process.running()

    def close(self) -> None:
        """Ends it; its pods go with their runtime."""
        self._process.end(kill=True)
        self._ports.release()
        shutil.rmtree(self._place, ignore_errors=True)

    # Pods

    def put(self, *manifests: Mapping[str, Any]) -> None:
        """Static pods from now on, or otherwise than before."""
        for each in manifests:
            (self._manifests / f"{each['metadata']['name']}.json").write_text(json.dumps(each))

    def take(self, name: str) -> None:
        """No static pod any more."""
        (self._manifests / f"{name}.json").unlink()

    def pods(self) -> dict[str, dict[str, Any]]:
        """The status of each pod by its name in the manifest."""
        items = json.loads(self._get("/pods") or "{}").get("items") or []
        return {
            each["metadata"]["name"].removesuffix(f"-{_NODE}"): each.get("status", {})
            for each in items
        }

    def container(self, name: str) -> dict[str, Any]:
        """The status of the first container of a pod; empty for one that has none yet."""
        statuses = self.pods().get(name, {}).get("containerStatuses") or [{}]
        status: dict[str, Any] = statuses[0]
        return status

    def ready(self) -> int:
        """How many pods are Running with all their containers ready."""
        return sum(
            status.get("phase") == "Running"
            and all(each["ready"] for each in status.get("containerStatuses", ()))
            for status in self.pods().values()
        )

    def logs(self, name: str) -> str:
        """What the container of a pod has written, through kubelet's port."""
        return self._ask(f"/containerLogs/default/{name}-{_NODE}/main")

    def run_in(self, name: str, *words: str) -> str:
        """What a command in the container of a pod prints, through kubelet's port."""
        query = urlencode({"cmd": " ".join(words)})
        return self._ask(f"/run/default/{name}-{_NODE}/main?{query}", method="POST")

    def execute(self, name: str, *words: str, typed: bytes = b"") -> tuple[bytes, int]:
        """Output and exit code of a command that is connected to its caller, who types this."""
        wanted = [(name, "1") for name in ("input", "output", "error")]
        wanted += [("command", word) for word in words]
        path = f"/exec/default/{name}-{_NODE}/main?{urlencode(wanted)}"
        with (
            TlsRelay(self._ports.api) as relay,
            SpdyCommandClient(f"http://127.0.0.1:{relay.port}{path}", stdin=True) as client,
        ):
            if typed:  # one that reads nothing may have ended by now
                client.send(typed)
                client.end_input()
            outcome = client.wait()
            assert outcome is not None, f"{words} did not end"
            return client.output(), outcome.exit_code

    def _get(self, path: str) -> str:
        return http_get(self._ports.read, path)

    def _ask(self, path: str, method: str = "GET") -> str:
        """At the port for whoever has a certificate of the cluster, which here nobody has."""
        context = ssl._create_unverified_context()
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        url = f"https://127.0.0.1:{self._ports.api}{path}"
        with opener.open(urllib.request.Request(url, method=method), timeout=20) as reply:
            text: str = reply.read().decode()
            return text
