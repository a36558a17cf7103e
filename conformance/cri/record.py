"""Sandboxes and containers that cases make: on record before they are, gone with the case.

A call passes through here whoever makes it, so that what a runtime makes where it should have
refused goes as well.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

from conformance.cri.images import REPOSITORY
from conformance.engine.ledger.entries import Ledger
from conformance.engine.ledger.pods import POD
from conformance.engine.scope import CaseScope
from conformance.engine.verdict import Broken
from refimpl.cri import kubelet
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Refused

__all__ = ["Record", "RecordedChannel"]


class Record:
    """What is made goes with `scope`. runtime: over a channel of its own, so that undoing is on no
    record."""

    def __init__(self, runtime: kubelet.RemoteRuntime, ledger: Ledger) -> None:
        self._runtime, self._ledger = runtime, ledger
        self.scope = CaseScope()

    @contextlib.contextmanager
    def within(self, scope: CaseScope) -> Any:
        """What is made inside goes with this scope."""
        outer, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = outer

    def run(self, call: Callable[..., Any], request: pb.RunPodSandboxRequest, **more: Any) -> Any:
        """RunPodSandbox."""
        uid = request.config.metadata.uid
        if uid:
            self._ledger.making(POD, uid)
            self.scope.callback(partial(self._remove_pod, uid))
        reply = call(request, **more)
        if not uid:
            self.scope.callback(partial(self._remove_sandbox, reply.pod_sandbox_id))
        return reply

    def create(
        self, call: Callable[..., Any], request: pb.CreateContainerRequest, **more: Any
    ) -> Any:
        """CreateContainer."""
        reply = call(request, **more)
        self.scope.callback(partial(self._remove_container, reply.container_id))
        return reply

    def pull(self, call: Callable[..., Any], request: pb.PullImageRequest, **more: Any) -> Any:
        """PullImage, of an image of ours: what was on the node before stays there."""
        reply = call(request, **more)
        if REPOSITORY in request.image.image:
            self.scope.callback(partial(self._remove_image, reply.image_ref))
        return reply

    def _remove_image(self, id: str) -> None:
        request = pb.RemoveImageRequest(image=pb.ImageSpec(image=id))
        self._undone("RemoveImage", lambda: self._runtime.images.RemoveImage(request))

    def _remove_pod(self, uid: str) -> None:
        self._undone("RemovePodSandbox", lambda: kubelet.remove_pod(self._runtime, uid))
        self._ledger.gone(POD, uid)

    def _remove_sandbox(self, id: str) -> None:
        self._undone("RemovePodSandbox", lambda: self._runtime.remove_pod_sandbox(id))

    def _remove_container(self, id: str) -> None:
        self._undone("RemoveContainer", lambda: self._runtime.remove_container(id))

    def _undone(self, rpc: str, undo: Callable[[], object]) -> None:
        try:
            undo()
        except Refused as refusal:
            self.scope.failed = True  # what was lent to the case may not be as it was
            raise Broken(
                "what a case made can be removed again", f"{rpc} answers OK", str(refusal)
            ) from None


class RecordedChannel:
    """A channel whose calls are on record; what generated stubs are made over."""

    def __init__(self, channel: Any, record: Record) -> None:
        self._channel = channel
        self._through: dict[str, Callable[..., Any]] = {
            "RunPodSandbox": record.run,
            "CreateContainer": record.create,
            "PullImage": record.pull,
        }

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """The caller of one method, through the record where it makes something."""
        call: Callable[..., Any] = self._channel.unary_unary(method, *args, **kwargs)
        through = self._through.get(method.rpartition("/")[2])
        return partial(through, call) if through else call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)
