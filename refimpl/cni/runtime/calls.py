"""One exec after the other: found, started again while busy, recorded, shown to observers."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from refimpl.cni.contract import Verb
from refimpl.cni.execute import Exec, Executor, Log, Outcome, Request
from refimpl.cni.runtime import lookup
from refimpl.cni.runtime.profiles import Profile
from refimpl.cni.runtime.trouble import PluginUnusable

__all__ = ["Calls", "Observer"]

Observer = Callable[[Exec], None]


class Calls:
    """Runs plugins as one profile does; `log` holds every exec there was.

    environ: the runtime's own environment, read at each call. pause: waits that many seconds.
    """

    def __init__(
        self,
        bin_dirs: Sequence[str | Path],
        profile: Profile,
        executor: Executor,
        *,
        observers: Sequence[Observer] = (),
        environ: Mapping[str, str] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.bin_dirs = tuple(Path(each) for each in bin_dirs)
        self.profile = profile
        self.observers = list(observers)
        self.log = Log()
        self._executor, self._environ, self._pause = executor, environ, pause

    @property
    def path(self) -> str:
        """The value of CNI_PATH."""
        return lookup.joined(self.bin_dirs)

    @property
    def ambient(self) -> Mapping[str, str]:
        """The environment the runtime itself has."""
        return os.environ if self._environ is None else self._environ

    def find(self, plugin: str, verb: Verb) -> Path:
        """The program of a plugin; raises PluginMissing."""
        return lookup.find(plugin, self.bin_dirs, verb)

    def run(self, plugin: Path, verb: Verb, request: Request) -> Outcome:
        """One exec to its end or the profile's deadline. Raises PluginUnusable where the program
        cannot be started, PluginMissing where it vanished.
        """
        attempts, pause_s = self.profile.policy.busy
        deadline_s = self.profile.policy.deadlines[verb]
        for attempt in range(1, attempts + 1):
            try:
                outcome = self._executor.run(plugin, request, deadline_s=deadline_s)
            except OSError as error:
                if error.errno != errno.ETXTBSY:
                    why = f"it cannot be started: {error.strerror or error}"
                    raise PluginUnusable(plugin.name, verb, f"{why} ({plugin})") from error
                # Whoever installs a plugin may be writing it right now.
                if attempt < attempts:
                    self._pause(pause_s)
                continue
            self._record(plugin, request, outcome)
            return outcome
        what = f"its file {plugin} was being written, {attempts} times in a row"
        raise PluginUnusable(plugin.name, verb, what)

    def _record(self, plugin: Path, request: Request, outcome: Outcome) -> None:
        entry = self.log.note(os.fspath(plugin), request, outcome)
        for observer in self.observers:
            observer(entry)
