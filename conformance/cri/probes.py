"""What a runtime can be asked for with containers only: tried out once, when a case needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.cri import cgroups, node
from conformance.cri.node import Around
from conformance.engine.scope import CaseScope
from conformance.engine.verdict import Unjudged
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused

__all__ = ["probes"]

_ABSENT = "registry.invalid/refimpl/no-such:1"
_MEMORY = 64 << 20


def probes(cri: Around) -> Mapping[str, Callable[[], str]]:
    """The reason that a feature is not there, by its name."""
    return {name: _alone(cri, probe) for name, probe in _PROBES.items()}


def _alone(cri: Around, probe: Callable[[Around], str]) -> Callable[[], str]:
    """With what it makes gone at its end."""

    def reason() -> str:
        scope = CaseScope()
        try:
            with cri.record.within(scope):
                return probe(cri)
        except Unjudged as unjudged:
            return unjudged.because
        except Refused as refusal:
            return f"{cri.name} refuses a container for it: {refusal}"
        finally:
            scope.close()

    return reason


def _host(cri: Around) -> str:
    shared = node.folder(cri)
    (shared / "seen").write_text("seen")
    container = cri.pods.run().run(mounts=[node.mount(shared)])
    if node.said(container, "cat", "/data/seen") == "seen":
        return ""
    return f"{cri.name} does not see the files of this machine"


def _volumes(cri: Around) -> str:
    """Who knows them has UNIMPLEMENTED for none, and names an image that is not there; what comes
    of one that is there is for cases to judge."""
    pod = cri.pods.run()
    for image in (cri.image, _ABSENT):
        spec = pb.ImageSpec(image=image)
        try:
            pod.create(mounts=[pb.Mount(image=spec, container_path="/volume", readonly=True)])
        except Refused as refusal:
            unnamed = image == _ABSENT and image not in refusal.message
            if unnamed or refusal.code == Code.UNIMPLEMENTED:
                return f"{cri.name} mounts no images: {refusal.message}"
    return ""


def _node(cri: Around) -> str:
    node.Node(cri)
    return ""


def _cgroups(cri: Around) -> str:
    resources = pb.LinuxContainerResources(memory_limit_in_bytes=_MEMORY)
    container = cgroups.limited(cri.pods.run(), resources)
    return "" if cgroups.memory(container) == _MEMORY else "a container does not see its own cgroup"


def _unified(cri: Around) -> str:
    seen = node.worked(cri.pods.run().run(), "cat /sys/fs/cgroup/cgroup.controllers")
    return "" if seen else "the node has cgroup version 1"


_PROBES: Mapping[str, Callable[[Around], str]] = {
    "host": _host,
    "image volumes": _volumes,
    "node": _node,
    "cgroups": _cgroups,
    "cgroup v2": _unified,
}
