"""A plugin's process: somebody's command, or (in `ours`) our fake in this process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import attrs

from conformance.deviceplugin.settings import DpSettings
from conformance.engine.targets.output import tail
from conformance.engine.targets.placeholders import used
from conformance.engine.targets.process import Measures, measures_of
from conformance.engine.targets.supervise import Supervised
from refimpl.deviceplugin import illusion
from refimpl.deviceplugin.devicemanager.layout import Layout

__all__ = ["CommandProcess", "Maker", "PluginPlace", "PluginProcess", "illusory"]

_OF_KUBELET = {"kubelet", "device-plugins", "registry"}


@attrs.frozen
class PluginPlace:
    """Where a plugin is started. `root` stands for /var/lib/kubelet; `scratch` is for its log, and
    `own` for what it keeps: those that are started after it find it there."""

    root: Path
    scratch: Path
    own: Path
    node: str
    resource: str

    @property
    def cdi(self) -> Path:
        """The folder for its CDI files."""
        return self.root / "cdi"

    @property
    def layout(self) -> Layout:
        """What lies where below the root."""
        return Layout(self.root)

    @property
    def values(self) -> Mapping[str, str]:
        """The placeholders of commands, by name."""
        return {
            "kubelet": str(self.root),
            "device-plugins": str(self.layout.plugins),
            "registry": str(self.layout.registry),
            "cdi": str(self.cdi),
            "dir": str(self.own),
            "node": self.node,
            "resource": self.resource,
        }


class PluginProcess(Protocol):
    """One process of the plugin, made for a place and not started yet. `ended_by_us`: it was
    `terminate` or `kill` that ended it."""

    ended_by_us: bool

    def start(self) -> None:
        """Starts it; raises BadOption where that cannot be. It registers when it likes."""

    def terminate(self, limit_s: float = 10.0) -> int | None:
        """SIGTERM, as a pod's end; SIGKILL after the limit. Returns the exit status."""

    def kill(self) -> None:
        """SIGKILL: its sockets stay where they are."""

    def freeze(self) -> bool:
        """SIGSTOP; False where that cannot be done."""

    def thaw(self) -> None:
        """SIGCONT."""

    def alive(self) -> bool:
        """Whether it runs."""

    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""

    def fate(self) -> str:
        """How it ended, with the last lines of its log."""

    def output(self) -> str:
        """All that it has written so far."""

    def measures(self) -> Measures | None:
        """What it holds now; None where that cannot be seen."""

    def close(self) -> None:
        """Ends it and removes what was made for it. May be called twice."""


Maker = Callable[[PluginPlace], PluginProcess]
"""Makes a process of the plugin under test for a place."""


class CommandProcess:
    """A process of the user's command."""

    def __init__(self, command: Sequence[str], place: PluginPlace, chosen: DpSettings) -> None:
        self.ended_by_us = False
        seen = illusory(command, chosen)
        self._process = Supervised(
            illusion.words(place.root, command) if seen else command,
            folder=place.scratch,
            values=place.values,
            env=chosen.env,
        )

    def start(self) -> None:
        """Starts it; it registers when it likes."""
        self._process.start()

    def terminate(self, limit_s: float = 10.0) -> int | None:
        """SIGTERM, then SIGKILL after the limit; the exit status."""
        self.ended_by_us = self.ended_by_us or self.alive()
        return self._process.terminate(limit_s)

    def kill(self) -> None:
        """SIGKILL: its sockets stay where they are."""
        self.ended_by_us = self.ended_by_us or self.alive()
        self._process.kill()

    def freeze(self) -> bool:
        """SIGSTOP; whether that could be done."""
        self._signal(signal.SIGSTOP)
        return True

    def thaw(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.process and self.alive():
            os.killpg(self._process.process.pid, number)

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.running()

    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._process.status()

    def fate(self) -> str:
        """How it ended, with its last words."""
        if self.alive():
            return f"it runs{self._process.last_words()}"
        return f"it ended with status {self.status()}{self._process.last_words()}"

    def output(self) -> str:
        """All that it has written so far."""
        return tail(self._process.log)

    def measures(self) -> Measures | None:
        """What it holds now; None where that cannot be seen."""
        process = self._process.process
        return measures_of(process.pid) if process and self.alive() else None

    def close(self) -> None:
        """Ends it and removes what was made for it."""
        self.thaw()
        self._process.close()


def illusory(command: Sequence[str], chosen: DpSettings) -> bool:
    """Whether the command is to find its folder at the real kubelet's path."""
    named = used([*command, *chosen.env.values()]) & _OF_KUBELET
    return chosen.illusion == "always" or (chosen.illusion == "auto" and not named)
