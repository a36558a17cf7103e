"""What every runtime under test can be asked for, and the words in which it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs

from refimpl.cni.runtime.kubernetes import Port, Resolver

__all__ = [
    "BANDWIDTH",
    "FEATURES",
    "Port",
    "Readiness",
    "RequestedPod",
    "Resolver",
    "RuntimeRefusal",
    "RuntimeSubject",
    "describe",
]

BANDWIDTH = "kubernetes.io/{}-bandwidth"
"""The annotation of a pod's limit; `ingress` or `egress`."""


class RuntimeRefusal(Exception):
    """The runtime says no, or does not answer: its own words."""


# What not every runtime has; `lacks` of the subject gives the reason.
PODS = "pods"
"""It makes sandboxes of pods, with what Kubernetes tells of them."""
GC = "gc"
"""There is a way to ask for GC."""
RESTART, KILL, REBOOT = "restart", "kill", "reboot"
NETNS = "runtime netns"
CACHE = "cache"
IDS = "ids"
"""The caller chooses the container id."""
SEVERAL = "several networks"
"""A pod gets all networks of the folder."""
BIN_DIRS = "several bin dirs"
"""It looks for plugins in more than one directory."""
FEATURES = (PODS, GC, RESTART, KILL, REBOOT, NETNS, CACHE, IDS, SEVERAL, BIN_DIRS)


@attrs.define(kw_only=True, eq=False)
class RequestedPod:
    """A pod that is asked for. id: its sandbox, "" until there is one that we know of.

    network: the name of the one it is attached to. stuck: its sandbox cannot start, after its
    network was made.
    """

    name: str
    uid: str
    namespace: str = "refimpl"
    network: str = ""
    ports: tuple[Port, ...] = ()
    annotations: Mapping[str, str] = attrs.field(factory=dict)
    dns: Resolver | None = None
    stuck: bool = False
    id: str = ""
    netns: str = ""


@attrs.frozen
class Readiness:
    """Whether new pods would get a network, and what is said where they would not."""

    ready: bool
    message: str = ""


class RuntimeSubject(Protocol):
    """A runtime, its folders as this process reaches them. What it refuses is RuntimeRefusal.

    lacks: feature -> why it has not got it, as a phrase for a skipped case; only what it lacks.
    cache_dir: where libcni's `results` are. patience_s: how long who asks waits for a plugin that
    hangs: enough for all else that the runtime does in that time.
    """

    name: str
    version: str
    conf_dir: Path
    bin_dirs: Sequence[Path]
    cache_dir: Path
    lacks: Mapping[str, str]
    patience_s: float

    def enter(self) -> None:
        """From now on pods get real network namespaces, where it is we who make them."""

    def loaded(self, name: str, document: bytes, probed: Callable[[], bool], /) -> bool:
        """Whether new pods get this network. probed: whether its plugins were asked VERSION since
        it was put in place."""

    def networks(self) -> tuple[str, ...]:
        """The names of the networks that pods get, as far as it tells."""

    def readiness(self, deadline_s: float = 10.0) -> Readiness:
        """Whether the network is ready; raises RuntimeRefusal where no answer comes."""

    def run(self, pod: RequestedPod, deadline_s: float = 20.0) -> None:
        """Makes the sandbox and attaches it."""

    def stop(self, pod: RequestedPod) -> None:
        """Detaches it."""

    def remove(self, pod: RequestedPod) -> None:
        """Lets go of it."""

    def known(self, pod: RequestedPod) -> bool:
        """Whether a client can still ask for the pod's end; sets the id of one that is listed."""

    def check(self, pod: RequestedPod) -> None:
        """Asks for a check of the attachment, where there is a way."""

    def collect(self, valid: list[RequestedPod], /) -> None:
        """Asks for a collection of what is not in the list, where there is a way."""

    def alive(self) -> bool:
        """Whether it answers."""

    def revive(self) -> bool:
        """Starts one that died; whether it answers afterwards."""

    def kill_during(self, pod: RequestedPod, reached: Callable[[], object], /) -> None:
        """Runs the pod, waits until `reached` returns, and kills the runtime."""

    def restart(self) -> None:
        """Ends the runtime and starts it again; also after a kill."""

    def reboot(self) -> None:
        """As after a reboot: no process, no namespace, but the files on the disk."""

    def reach(self, path: str) -> Path:
        """A path of the runtime's view, as this process can open it."""

    def lose_netns(self, path: str, *, leave: str) -> None:
        """Takes a namespace away behind its back; leave: "nothing", "file"."""

    def command(self, act: str, pod: RequestedPod | None, /) -> str:
        """The line that repeats an act without us."""

    def close(self) -> None:
        """Ends what was started, leaves everything as it was."""


def describe(error: BaseException) -> str:
    """The words of an error with its notes."""
    notes: Any = getattr(error, "__notes__", ())
    inner = getattr(error, "exceptions", ())
    return "; ".join([str(error), *notes, *(describe(each) for each in inner)])
