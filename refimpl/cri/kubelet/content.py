"""What kubelet demands of replies: one that lacks it is an error to kubelet, whatever its status.

Source: the client of CRI that kubelet is built with (k8s.io/cri-client).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

__all__ = ["lacking"]

_LEAST_CONDITIONS = 2


def _members(*paths: str) -> Callable[[Any], list[str]]:
    """Which of these members, `status.metadata.name`, are empty."""

    def empty(reply: Any) -> list[str]:
        return [path for path in paths if not _member(reply, path)]

    return empty


def _member(reply: Any, path: str) -> Any:
    for name in path.split("."):
        reply = getattr(reply, name)
    return reply


def _of(status: str, *members: str) -> Callable[[Any], list[str]]:
    """The same of a message that may be missing as a whole, which kubelet lets pass."""
    inner = _members(*members)

    def empty(reply: Any) -> list[str]:
        if not reply.HasField(status):
            return []
        return [f"{status}.{name}" for name in inner(getattr(reply, status))]

    return empty


def _conditions(reply: Any) -> list[str]:
    enough = len(reply.status.conditions) >= _LEAST_CONDITIONS
    return [] if enough else ["status.conditions (two at least)"]


_DEMANDS: dict[str, Callable[[Any], list[str]]] = {
    "Version": _members("version", "runtime_name", "runtime_version", "runtime_api_version"),
    "Status": _conditions,
    "RunPodSandbox": _members("pod_sandbox_id"),
    "PodSandboxStatus": _of(
        "status", "id", "metadata.name", "metadata.namespace", "metadata.uid", "created_at"
    ),
    "CreateContainer": _members("container_id"),
    "ContainerStatus": _of(
        "status", "id", "metadata.name", "created_at", "image.image", "image_ref"
    ),
    "ImageStatus": _of("image", "id", "size"),
    "PullImage": _members("image_ref"),
    "Exec": _members("url"),
    "Attach": _members("url"),
    "PortForward": _members("url"),
}


def lacking(rpc: str, reply: Message) -> list[str]:
    """The members that kubelet demands in the reply to that RPC and that are empty or zero."""
    return _DEMANDS[rpc](reply) if rpc in _DEMANDS else []
