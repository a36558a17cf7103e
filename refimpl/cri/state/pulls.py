"""One download, for all who ask for the same."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from refimpl.cri.state.models import Image
from refimpl.cri.state.ports import Caller
from refimpl.wire.status import Code, Refused

__all__ = ["UNAVAILABLE", "Pull"]

UNAVAILABLE = "RegistryUnavailable"
"""With what a message begins so that kubelet tries again later (k8s.io/cri-api/pkg/errors)."""


class Pull:
    """It is the caller of its source (`ports.Caller`): gone once all who ask for it are."""

    def __init__(self, caller: Caller) -> None:
        self.image: Image | None = None
        self.refusal: Refused | None = None
        self._lock = threading.Lock()
        self._callers: list[Caller] = []
        self._done, self._woken = threading.Event(), threading.Condition()
        self._abandoned = False
        self._callbacks: list[Callable[[], object]] = []
        self.join(caller)

    def join(self, caller: Caller) -> bool:
        """One more who asks for it; False where it breaks off already."""
        with self._lock:
            if self._abandoned:
                return False
            self._callers.append(caller)
        caller.on_cancel(self._look)
        return True

    def result(self, caller: Caller) -> Image:
        """What has come of it, once it has ended; raises Refused, also once this caller is gone."""
        if not self._done.is_set():
            caller.on_cancel(self._wake)
            with caller.waiting(), self._woken:
                self._woken.wait_for(lambda: self._done.is_set() or caller.cancelled())
        if self.refusal:
            raise self.refusal
        if self.image is None:
            raise Refused(Code.CANCELLED, "nobody waits for this image any more")
        return self.image

    def end(self, reference: str) -> None:
        """It has ended."""
        if self.image is None and self.refusal is None:
            self.refusal = Refused(Code.UNKNOWN, f"{reference}: its download broke off")
        self._done.set()
        self._wake()

    # -- as a caller --------------------------------------------------------------------------

    def waiting(self) -> AbstractContextManager[None]:
        """Its first caller waits already."""
        return contextlib.nullcontext()

    def cancelled(self) -> bool:
        """Whether all are gone."""
        with self._lock:
            self._abandoned = self._abandoned or all(each.cancelled() for each in self._callers)
            return self._abandoned

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Calls the callback once all are gone."""
        with self._lock:
            self._callbacks.append(callback)
        self._look()

    def _look(self) -> None:
        if not self.cancelled():
            return
        with self._lock:
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def _wake(self) -> None:
        with self._woken:
            self._woken.notify_all()
