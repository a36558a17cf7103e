"""Keeps a plugin registered: it serves, registers, notices that kubelet forgot it, and repeats.

Every time it comes back at a new socket: kubelet 1.37.2 takes a second Register for one that is
still connected as a mistake that only its restart heals.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from attrs import frozen

from refimpl.registration.watch import SocketDirectory
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.server import Server
from refimpl.wire.status import Refused

__all__ = ["Launch", "Pace", "RegisterCall", "Registrar"]


@frozen
class Pace:
    """Seconds of quiet after a sign that kubelet forgot us; first and longest pause of retries."""

    debounce_s: float = 1.0
    first_s: float = 1.0
    longest_s: float = 30.0


class RegisterCall(Protocol):
    """How a plugin asks to be registered."""

    def register(self, endpoint: Endpoint) -> None:
        """Raises Refused, or Unreachable where nobody could be asked."""

    def cancel(self) -> None:
        """Ends a `register` that runs in another thread, and those to come."""


class Launch:
    """One life of the server: knows the streams that kubelet has opened on it."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self._lock, self._wake = threading.Lock(), wake
        self._streams, self._ended, self.dead = 0, False, False

    def streaming(self, change: int) -> None:
        """A ListAndWatch began (1) or ended (-1)."""
        with self._lock:
            self._streams += change
            self._ended = self._ended or change < 0
        self._wake()

    def died(self) -> None:
        """It is to end as in a crash, and to come back."""
        self.dead = True
        self._wake()

    @property
    def forgotten(self) -> bool:
        """Whether there were streams and none is left."""
        with self._lock:
            return self._ended and not self._streams


class Registrar:
    """One way of a plugin to be registered, with a server at a socket of its own in `folder`.

    `serve` makes the server of a launch. `push` asks kubelet (push); without one kubelet comes
    by itself, and what it says goes to `notified` (pull). `sign` names a socket in the folder whose
    appearance means that kubelet has started.
    """

    def __init__(
        self,
        folder: Path,
        stem: str,
        serve: Callable[[Launch], Server],
        *,
        push: RegisterCall | None = None,
        sign: str = "",
        pace: Pace | None = None,
    ) -> None:
        self.folder, self.registered, self.problem = folder, False, "not registered yet"
        self.registrations = 0
        self._stem, self._serve, self._push = stem, serve, push
        self._sign = str(folder / sign) if sign else ""
        self._pace = pace or Pace()
        self._changed = threading.Condition()
        self._server: Server | None = None
        self._endpoint: Endpoint | None = None
        self._directory: SocketDirectory | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._launched = Launch(self._wake)
        self._again, self._refused = False, False
        self._due: float | None = None
        self._failures = 0

    @property
    def endpoint(self) -> Endpoint:
        """Where it serves, or served last; RuntimeError before it is started."""
        if self._endpoint is None:
            raise RuntimeError("the plugin has no endpoint before it is started")
        return self._endpoint

    def start(self) -> Endpoint:
        """Serves, and begins to register. Raises EndpointError."""
        self._fresh_endpoint()  # a folder that is too deep is not even made
        os.makedirs(self.folder, mode=0o750, exist_ok=True)
        self._stopping.clear()
        self._directory = SocketDirectory(self.folder)
        self._directory.events()
        self._launch()
        self._due = time.monotonic() if self._push else None
        self._thread = threading.Thread(target=self._run, name="refimpl-registrar", daemon=True)
        self._thread.start()
        return self.endpoint

    def stop(self, grace_s: float = 1.0) -> None:
        """Ends and removes its socket. May be called twice."""
        self._stopping.set()
        if self._push is not None:
            self._push.cancel()
        if self._directory is not None:
            self._directory.wake()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._halt("stopped", grace_s)
        if self._directory is not None:
            self._directory.close()
            self._directory = None

    def wait_registered(self, registrations: int, timeout_s: float) -> bool:
        """Waits until it is registered, and was so often; False if not in time."""

        def so() -> bool:
            return self.registered and self.registrations >= registrations

        with self._changed:
            return self._changed.wait_for(so, timeout_s)

    # Signs, from any thread

    def notified(self, registered: bool, error: str) -> None:
        """Kubelet says whether it registered us."""
        with self._changed:
            self._refused = not registered
            self._note(registered, error)
        self._wake()

    def again(self) -> None:
        """Registers anew, as after a sign that it was forgotten."""
        self._again = True
        self._wake()

    # Its own thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._look(self._rest_s())
            if self._due is not None and self._due <= time.monotonic():
                self._look(0.0)  # what happened meanwhile may put it off
                if self._due is not None and self._due <= time.monotonic():
                    self._act()

    def _rest_s(self) -> float:
        return 60.0 if self._due is None else max(self._due - time.monotonic(), 0.0)

    def _look(self, timeout_s: float) -> None:
        """Takes note of signs; each of them puts the next attempt off until all is quiet."""
        assert self._directory is not None
        for event in self._directory.events(timeout_s):
            if event.kind == "appeared" and event.path == self._sign:
                self._failures = 0
                self._begin_again("kubelet has started")
            elif event.kind == "gone" and self._server and event.path == self.endpoint.path:
                self._begin_again("its socket was removed")
        with self._changed:
            forgotten = self.registered and self._launched.forgotten
            refused, self._refused = self._refused, False
        if self._launched.dead:
            self._begin_again("it died", grace_s=0.0)
        elif self._again:
            self._begin_again("it was told to")
        elif forgotten:
            self._begin_again("its stream was ended")
        elif refused:
            self._halt(self.problem)
            self._postpone()

    def _begin_again(self, why: str, grace_s: float = 1.0) -> None:
        self._again = False
        # The old stream's end must be seen before the new Register (single endpoint, 1.25 to 1.35).
        self._halt(why, grace_s)
        self._due = time.monotonic() + self._pace.debounce_s

    def _act(self) -> None:
        self._due = None
        try:
            if self._server is None:
                self._launch()
            if self._push is not None:
                self._push.register(self.endpoint)
        except (Unreachable, EndpointError, OSError) as error:  # nobody was asked
            self._failed(str(error))
        except Refused as error:
            # Whether it was registered all the same is not known: this socket is spent.
            self._halt(str(error))
            self._failed(str(error))
        else:
            if self._push is not None:
                with self._changed:
                    self._note(True, "")

    def _failed(self, reason: str) -> None:
        with self._changed:
            self._note(False, reason)
        self._postpone()

    def _postpone(self) -> None:
        pause = min(self._pace.first_s * 2.0**self._failures, self._pace.longest_s)
        self._due, self._failures = time.monotonic() + pause, min(self._failures + 1, 30)

    def _note(self, registered: bool, problem: str) -> None:
        self.registered, self.problem = registered, problem
        self.registrations += registered
        self._failures = 0 if registered else self._failures
        self._changed.notify_all()

    def _launch(self) -> None:
        os.makedirs(self.folder, mode=0o750, exist_ok=True)
        self._endpoint = self._fresh_endpoint()
        self._launched = Launch(self._wake)
        server = self._serve(self._launched)
        server.start(self._endpoint)
        self._server = server

    def _fresh_endpoint(self) -> Endpoint:
        return Endpoint.parse(self.folder / f"fake-{self._stem}-{uuid.uuid4().hex[:8]}.sock")

    def _halt(self, why: str, grace_s: float = 1.0) -> None:
        server, self._server = self._server, None
        self._launched = Launch(self._wake)
        with self._changed:
            self._note(False, why)
        if server is not None:
            server.stop(grace_s)

    def _wake(self) -> None:
        directory = self._directory
        if directory is not None:
            with contextlib.suppress(OSError):
                directory.wake()
