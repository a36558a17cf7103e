"""A line of crictl that repeats a call without us; of grpcurl where crictl has no command."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from conformance.engine.judging import reproduce
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry

__all__ = ["line"]

_BY_SANDBOX = {
    "StopPodSandbox": "stopp",
    "RemovePodSandbox": "rmp",
    "PodSandboxStatus": "inspectp",
}
_BY_CONTAINER = {
    "StartContainer": "start",
    "RemoveContainer": "rm",
    "ContainerStatus": "inspect",
    "ContainerStats": "stats",
}
_BY_IMAGE = {"PullImage": "pull", "RemoveImage": "rmi", "ImageStatus": "inspecti"}
_BARE = {
    "Version": "version",
    "Status": "info",
    "ListImages": "images",
    "ImageFsInfo": "imagefsinfo",
    "RuntimeConfig": "runtime-config",
}


def line(call: Entry, endpoint: Endpoint) -> str:
    """One line for a shell."""
    sent = call.to_dict()["requests"]
    words = _words(call.rpc, sent[0] if sent else {})
    if words is None:
        return reproduce.grpcurl(call, endpoint, "refimpl/cri/api/cri.proto")
    files, command = words
    written = [
        f"printf %s {shlex.quote(json.dumps(content, ensure_ascii=False))} > {name}"
        for name, content in files.items()
    ]
    return "; ".join([*written, shlex.join(["crictl", "-r", str(endpoint), *command])])


def _words(rpc: str, sent: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]] | None:
    """Files to write first, and the words after `crictl`; None where it has no command."""
    if rpc in _BARE:
        return {}, [_BARE[rpc]]
    if rpc in _BY_SANDBOX and sent.get("pod_sandbox_id"):
        return {}, [_BY_SANDBOX[rpc], sent["pod_sandbox_id"]]
    if rpc in _BY_CONTAINER and sent.get("container_id"):
        return {}, [_BY_CONTAINER[rpc], sent["container_id"]]
    if rpc == "StopContainer" and sent.get("container_id"):
        return {}, ["stop", "--timeout", str(sent.get("timeout", 0)), sent["container_id"]]
    if rpc in _BY_IMAGE and sent.get("image", {}).get("image"):
        return {}, [_BY_IMAGE[rpc], sent["image"]["image"]]
    if rpc == "RunPodSandbox" and "config" in sent:
        handler = sent.get("runtime_handler")
        chosen = ["--runtime", handler] if handler else []
        return {"pod.json": sent["config"]}, ["runp", *chosen, "pod.json"]
    if rpc == "CreateContainer" and {"config", "sandbox_config"} <= set(sent):
        files = {"container.json": sent["config"], "pod.json": sent["sandbox_config"]}
        return files, ["create", sent.get("pod_sandbox_id", ""), "container.json", "pod.json"]
    return None
