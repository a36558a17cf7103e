"""What cases need of a runtime."""

from __future__ import annotations

from conformance.engine.needs import Feature, Without

__all__ = [
    "CGROUPS",
    "CGROUP_V2",
    "EVENTS",
    "HANDLER",
    "HOST",
    "IMAGE",
    "MOUNT_OPTIONS",
    "NODE",
    "NO_MOUNT_OPTIONS",
    "OURS",
    "PLAIN_HANDLER",
    "POD_NETWORK",
    "RECURSIVE",
    "REGISTRY",
    "USER_NAMESPACES",
    "VOLUMES",
    "served",
]

EVENTS = Feature("events", "a stream of events")
IMAGE = Feature("image", "an image with a shell")
HANDLER = Feature("handler", "a named runtime handler")
POD_NETWORK = Feature("pod network", "a network for pods")
REGISTRY = Feature("registry", "a way from the runtime to the registry of the suite")
HOST = Feature("host", "the files of this machine")
VOLUMES = Feature("image volumes", "images as volumes")
NODE = Feature("node", "privileged containers that can mount on the node")
CGROUPS = Feature("cgroups", "containers that see their cgroup")
CGROUP_V2 = Feature("cgroup v2", "cgroup version 2")
RECURSIVE = Feature("recursive read-only", "recursive read-only mounts")
PLAIN_HANDLER = Feature("plain handler", "a handler without recursive read-only mounts")
MOUNT_OPTIONS = Feature("mount options")
NO_MOUNT_OPTIONS = Without("mount options", "it has the feature mount_options")
USER_NAMESPACES = Feature("user namespaces")
OURS = Feature("ours", "our fake, which can be steered")


def served(rpc: str) -> Feature:
    """That the runtime has an RPC: an empty request is not answered UNIMPLEMENTED."""
    return Feature(f"rpc {rpc}", rpc)
