"""Kubelet's plugin watcher: registers what serves at the sockets of a folder, and forgets it."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Literal, Self

from attrs import define, field

from refimpl.registration.attempt import Attempts, Failed, Handler, RegisteredPlugin
from refimpl.registration.watch import SocketDirectory
from refimpl.wire.journal import Journal

__all__ = ["BACKOFF_S", "Handler", "PluginWatcher", "RegisteredPlugin"]

BACKOFF_S = (0.5, 122.0)
"""Between two attempts at a path: after the first failure, doubled with each, and at most."""

State = Literal[
    "absent",  # no socket; how often its path failed is still known
    "waiting",  # for the moment of the next attempt
    "registering",  # an attempt runs
    "outdated",  # an attempt runs, and another socket has taken the place
    "leaving",  # an attempt runs, and the socket is gone
    "registered",
    "deregistering",  # the handler is being told that the socket is gone
    "renewing",  # as well, and there is another one at the path
]
Input = Literal["appeared", "gone", "due", "done", "failed"]
Operation = Literal["", "register", "deregister", "postpone"]

TABLE: Mapping[tuple[State, Input], tuple[Operation, State]] = {
    ("absent", "appeared"): ("", "waiting"),
    ("waiting", "appeared"): ("", "waiting"),
    ("waiting", "gone"): ("", "absent"),
    ("waiting", "due"): ("register", "registering"),
    ("registering", "appeared"): ("", "outdated"),
    ("registering", "gone"): ("", "leaving"),
    ("registering", "done"): ("", "registered"),
    ("registering", "failed"): ("postpone", "waiting"),
    ("outdated", "appeared"): ("", "outdated"),
    ("outdated", "gone"): ("", "leaving"),
    ("outdated", "done"): ("deregister", "renewing"),
    ("outdated", "failed"): ("postpone", "waiting"),
    ("leaving", "appeared"): ("", "outdated"),
    ("leaving", "done"): ("deregister", "deregistering"),
    ("leaving", "failed"): ("postpone", "absent"),
    ("registered", "appeared"): ("deregister", "renewing"),
    ("registered", "gone"): ("deregister", "deregistering"),
    ("deregistering", "appeared"): ("", "renewing"),
    ("deregistering", "done"): ("", "absent"),
    ("renewing", "appeared"): ("", "renewing"),
    ("renewing", "gone"): ("", "deregistering"),
    ("renewing", "done"): ("", "waiting"),
}
"""State and what happens -> what is done, and the next state. One operation a socket at a time."""


@define(eq=False)
class _Socket:
    """A path of the folder; `due` on the watcher's clock, `problem` of the last attempt."""

    path: str
    state: State = "absent"
    failures: int = 0
    due: float = 0.0
    problem: str = ""
    plugin: RegisteredPlugin | None = None


class PluginWatcher:
    """Watches `folder` (plugins_registry) between `start` and `stop`, in threads of its own.

    `handlers` has one for each plugin type it knows. `clock` (seconds) is what retries are timed
    by; after putting a clock of your own forward call `wake`. Instead of `start`, `step` may be
    called over and over. `polling` does without inotify.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        handlers: Mapping[str, Handler],
        *,
        clock: Callable[[], float] = time.monotonic,
        journal: Journal | None = None,
        polling: bool = False,
    ) -> None:
        self.folder = os.path.abspath(folder)
        self._handlers, self._clock, self._journal = dict(handlers), clock, journal
        self._polling = polling
        self._changed = threading.Condition()
        self._sockets: dict[str, _Socket] = {}
        self._session: _Session | None = None

    # What it knows

    @property
    def plugins(self) -> tuple[RegisteredPlugin, ...]:
        """What is registered now, by path."""
        with self._changed:
            plugins = [s.plugin for s in self._sockets.values() if s.state == "registered"]
        return tuple(sorted((p for p in plugins if p), key=lambda plugin: plugin.socket))

    @property
    def problems(self) -> dict[str, str]:
        """Path and reason of each socket whose last attempt failed."""
        with self._changed:
            waiting = [s for s in self._sockets.values() if s.state != "absent" and s.problem]
            return {socket.path: socket.problem for socket in waiting}

    def retry_s(self, path: str | os.PathLike[str]) -> float:
        """Seconds on the clock until the next attempt at a path; 0 where none is put off."""
        with self._changed:
            socket = self._sockets.get(os.fspath(path))
        return max(socket.due - self._clock(), 0.0) if socket and socket.failures else 0.0

    def wait(self, condition: Callable[[], bool], timeout_s: float = 30.0) -> bool:
        """Waits until the condition holds, looked at after each change; False if not in time."""
        with self._changed:
            return self._changed.wait_for(condition, timeout_s)

    # Watching

    def start(self) -> None:
        """Makes the folder if it is missing (mode 0755) and watches; RuntimeError if it does."""
        self._open()
        session = self._current()
        session.thread = threading.Thread(target=self._run, args=[session], name="refimpl-plugins")
        session.thread.daemon = True
        session.thread.start()

    def stop(self) -> None:
        """Ends as a kubelet does: nobody is deregistered or told. May be called twice."""
        session, self._session = self._session, None
        if session is None:
            return
        session.stopping.set()
        session.directory.wake()
        session.attempts.close()
        if session.thread is not None:
            session.thread.join()
        session.directory.close()
        with self._changed:
            self._sockets = {}
            self._changed.notify_all()

    def step(self, timeout_s: float = 0.0) -> None:
        """Takes note of what happened, waiting up to `timeout_s` for it, and starts what is due."""
        if self._session is None:
            self._open()
        self._step(self._current(), timeout_s)

    def wake(self) -> None:
        """Looks at the clock again."""
        if (session := self._session) is not None:
            session.directory.wake()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _open(self) -> None:
        if self._session is not None:
            raise RuntimeError(f"the plugins of {self.folder} are watched already: stop that first")
        os.makedirs(self.folder, mode=0o755, exist_ok=True)
        directory = SocketDirectory(self.folder, polling=self._polling)
        self._session = _Session(directory, Attempts(self._handlers, self._journal))

    def _current(self) -> _Session:
        if self._session is None:
            raise RuntimeError(f"the plugins of {self.folder} are not watched: call start()")
        return self._session

    def _run(self, session: _Session) -> None:
        while not session.stopping.is_set():
            self._step(session, self._rest_s())

    def _rest_s(self) -> float:
        """Until the next attempt is due, at most a minute."""
        with self._changed:
            due = [s.due for s in self._sockets.values() if s.state == "waiting"]
        return min(max(min(due) - self._clock(), 0.0), 60.0) if due else 60.0

    # The machines

    def _step(self, session: _Session, timeout_s: float) -> None:
        for event in session.directory.events(timeout_s):
            self._feed(session, self._socket(event.path), event.kind)
        now = self._clock()
        with self._changed:
            due = [s for s in self._sockets.values() if s.state == "waiting" and s.due <= now]
        for socket in due:
            self._feed(session, socket, "due")

    def _socket(self, path: str) -> _Socket:
        with self._changed:
            return self._sockets.setdefault(path, _Socket(path))

    def _feed(self, session: _Session, socket: _Socket, what: Input) -> None:
        with self._changed:
            if session.stopping.is_set():
                return
            operation, socket.state = TABLE[socket.state, what]
            if operation == "postpone":
                self._postpone(socket)
            elif what == "done" and socket.state == "registered":
                socket.failures, socket.due, socket.problem = 0, 0.0, ""
            self._changed.notify_all()
        if operation in ("register", "deregister"):
            target = self._register if operation == "register" else self._deregister
            threading.Thread(
                target=target, args=[session, socket], name=f"refimpl-{operation}", daemon=True
            ).start()

    def _postpone(self, socket: _Socket) -> None:
        # Kubelet keeps the backoff by path: a new socket there does not shorten it.
        first, most = BACKOFF_S
        socket.due = self._clock() + min(first * 2**socket.failures, most)
        socket.failures = min(socket.failures + 1, 30)

    def _register(self, session: _Session, socket: _Socket) -> None:
        outcome: Input = "failed"
        try:
            socket.plugin = session.attempts.register(socket.path)
            outcome = "done"
        except Failed as error:
            socket.problem = str(error)
        except Exception as error:  # a bug of a handler must not end the retries
            if not session.stopping.is_set():  # then grpc is only told to use a closed channel
                traceback.print_exc()
            socket.problem = f"bug in the handler: {error!r}"
        self._feed(session, socket, outcome)
        session.directory.wake()

    def _deregister(self, session: _Session, socket: _Socket) -> None:
        plugin, socket.plugin = socket.plugin, None
        try:
            if plugin is not None:
                session.attempts.deregister(plugin)
        except Exception:  # the socket is gone all the same
            traceback.print_exc()
        self._feed(session, socket, "done")
        session.directory.wake()


@define(eq=False)
class _Session:
    """What exists between start and stop."""

    directory: SocketDirectory
    attempts: Attempts
    stopping: threading.Event = field(factory=threading.Event)
    thread: threading.Thread | None = None
