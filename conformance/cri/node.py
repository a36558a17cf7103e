"""The node of a runtime, as a case sees it: folders that both have, and what is mounted there.

Mounts are made by a privileged container in the process namespace of the node, which enters the
mount namespace of its first process: so it does not matter in which one this process is.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from conformance.cri.pods import ContainerUnderTest, Pods, PodUnderTest
from conformance.cri.record import Record
from conformance.engine.scope import CaseScope
from conformance.engine.verdict import Unjudged
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused

__all__ = ["Around", "Node", "folder", "mount", "privileged", "privileged_pod", "said", "worked"]

_NSENTER = (("nsenter",), ("busybox", "nsenter"))
_NUMBERS = itertools.count()


class Around(Protocol):
    """What is needed of a target."""

    name: str
    image: str
    pods: Pods
    record: Record

    @property
    def scope(self) -> CaseScope:
        """That of the case that runs."""


def folder(cri: Around) -> Path:
    """A folder that goes with the case; whoever runs in a container may use it."""
    made = Path(tempfile.mkdtemp(prefix="refimpl-mounts-"))
    cri.scope.callback(lambda: shutil.rmtree(made, ignore_errors=True))
    made.chmod(0o777)
    return made


def mount(source: Path | str, at: str = "/data", **more: object) -> pb.Mount:
    """A path of the node in a container."""
    return pb.Mount(container_path=at, host_path=str(source), **more)  # type: ignore[arg-type]


def said(container: ContainerUnderTest, *words: str) -> str:
    """What a command in a container writes to stdout; raises Refused."""
    return container.runtime.exec_sync(container.id, words, 10).stdout.decode()


def worked(container: ContainerUnderTest, script: str) -> bool:
    """Whether a script in a container ends with 0; raises Refused."""
    return not container.runtime.exec_sync(container.id, ["/bin/sh", "-c", script], 10).exit_code


def privileged_pod(cri: Around) -> PodUnderTest:
    """One with the network and the processes of the node."""
    config = cri.pods.config()
    config.linux.security_context.privileged = True
    config.linux.security_context.namespace_options.pid = pb.NODE
    return cri.pods.ask(config)


def privileged(pod: PodUnderTest, *mounts: pb.Mount) -> ContainerUnderTest:
    """A container that may do anything; raises Refused."""
    request = pod.request(f"privileged-{next(_NUMBERS)}", mounts=mounts)
    request.config.linux.security_context.privileged = True
    request.config.linux.security_context.namespace_options.pid = pb.NODE
    container = pod.ask(request)
    container.start()
    return container


class Node:
    """What a case mounts on the node, through a pod of its own; gone when the case ends."""

    def __init__(self, cri: Around) -> None:
        self._scope = cri.scope
        self.pod = privileged_pod(cri)
        self._container = privileged(self.pod)
        self._enter = self._found()

    def bind(self, path: Path, *, propagation: str = "shared") -> None:
        """The folder becomes a mount of its own. Raises Unjudged."""
        self._run("mount", "--bind", str(path), str(path))
        self._scope.callback(lambda: self._run("umount", str(path)))
        self._run("mount", f"--make-{propagation}", str(path))

    def tmpfs(self, path: Path) -> None:
        """An empty file system at that folder. Raises Unjudged."""
        path.mkdir(exist_ok=True)
        self._run("mount", "-t", "tmpfs", "refimpl", str(path))
        self._scope.callback(lambda: self._run("umount", str(path)))

    def _found(self) -> Sequence[str]:
        """How to enter."""
        for words in _NSENTER:
            try:
                if not self._status(words, "true"):
                    return words
            except Refused:
                continue
        raise _unjudged("a privileged container cannot enter the node by nsenter")

    def _status(self, enter: Sequence[str], *words: str) -> int:
        command = [*enter, "-t", "1", "-m", "--", *words]
        container = self._container
        return container.runtime.exec_sync(container.id, command, 10).exit_code

    def _run(self, *words: str) -> None:
        if self._status(self._enter, *words):
            raise _unjudged(f"the node refuses {' '.join(words)!r}")


def _unjudged(because: str) -> Unjudged:
    return Unjudged(Refused(Code.UNKNOWN, because), because)
