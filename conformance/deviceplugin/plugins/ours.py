"""Our fake plugin as the plugin under test: a process that is none."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.deviceplugin.plugins.process import PluginPlace
from conformance.engine.targets.process import Measures, measures_of
from refimpl.deviceplugin.fake import FakePlugin, Pace
from refimpl.deviceplugin.plugin.inventory import HEALTHY, UNHEALTHY
from refimpl.deviceplugin.plugin.personas import Persona, persona_of
from refimpl.wire.endpoint import Endpoint, EndpointError

__all__ = ["NODES", "WHOLE", "OurProcess"]

NODES = (0, 1)
WHOLE = Persona(
    "whole",
    count=16,
    numa=len(NODES),
    preferred=True,
    pre_start=True,
    gives=frozenset({"devices", "mounts", "annotations", "cdi"}),
)
"""A plugin that has everything, so that no case is left out."""

# Signs come in bursts even here; a plugin that waits for a second would keep the suite waiting.
_PACE = Pace(debounce_s=0.02, first_s=0.02, longest_s=5.0)


class OurProcess:
    """A process of our plugin. `choices`: of FakePlugin, and as `more` the resources that it
    registers besides the first."""

    def __init__(self, place: PluginPlace, choices: Mapping[str, Any]) -> None:
        chosen: dict[str, Any] = {
            "folder": place.root,
            "persona": WHOLE,
            "pace": _PACE,
            "cdi_dir": place.cdi,
            **choices,
        }
        if "cdi" not in _persona(chosen["persona"]).gives:
            chosen["cdi_dir"] = None
        resources = (place.resource, *chosen.pop("more", ()))
        self.plugins = [FakePlugin(resource, **chosen) for resource in resources]
        self.plugin = self.plugins[0]
        self.ended_by_us = False
        self._status: int | None = None
        self._started, self._problem = False, ""
        self._ending, self._pause = threading.Lock(), threading.Event()

    def start(self) -> None:
        """Starts it; it registers when it likes."""
        self._started, self._status, self.ended_by_us = True, None, False
        try:
            for plugin in self.plugins:
                plugin.start()
        except EndpointError as error:
            self._problem, self._status = str(error), 1

    def terminate(self, limit_s: float = 10.0) -> int | None:  # noqa: ARG002
        """Ends it as SIGTERM would, which it obeys; its exit status."""
        self.ended_by_us = self.ended_by_us or self.alive()
        return self._end(0)

    def kill(self) -> None:
        """Ends it as SIGKILL would: its sockets stay where they are."""
        self.ended_by_us = self.ended_by_us or self.alive()
        with _kept(self._endpoints()):
            self._end(-9)

    def exit(self, status: int) -> None:
        """It ends by itself, without cleaning up; from any thread."""
        self._status = status if self._status is None else self._status
        threading.Thread(target=self.kill, name="refimpl-exit", daemon=True).start()

    def _endpoints(self) -> Sequence[Endpoint]:
        try:
            return [each for plugin in self.plugins for each in plugin.endpoints]
        except RuntimeError:  # it ends while it starts
            return ()

    def rest(self) -> None:
        """Lets a moment pass, for mutants that wait for what cannot be waited for."""
        self._pause.wait(0.01)

    def _end(self, status: int) -> int | None:
        with self._ending:
            if self._started:
                self._started = False
                self._status = status if self._status is None else self._status
                for plugin in self.plugins:
                    plugin.stop(0)
        return self._status

    def freeze(self) -> bool:
        """It cannot be stopped: always False."""
        return False

    def thaw(self) -> None:
        """Nothing, as it is never stopped."""

    def alive(self) -> bool:
        """Whether it runs."""
        return self._started and self._status is None

    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._status

    def fate(self) -> str:
        """How it ended, or what keeps it from being registered."""
        if self.alive():
            return f"it runs: {self.plugin.problem or 'it is registered'}"
        return f"it ended with status {self._status}: {self._problem}".removesuffix(": ")

    def output(self) -> str:
        """What it has to complain about, as a log would have it."""
        return self._problem or self.plugin.problem

    def measures(self) -> Measures | None:
        """What this process holds, in which the case's own things are, too."""
        return measures_of(os.getpid())

    def close(self) -> None:
        """Ends it."""
        self._end(-9)

    # What happens to the node

    def hook(self, name: str, id: str) -> None:
        """Does what a hook of that name does on a real node."""
        plugin = self._having(id)
        match name:
            case "break_device":
                plugin.set_health(id, UNHEALTHY)
            case "mend_device":
                plugin.set_health(id, HEALTHY)
            case "add_device":
                plugin.add(id)
            case "remove_device":
                plugin.remove(id)
            case _:
                self._source(HEALTHY if name == "mend_source" else UNHEALTHY)

    def _having(self, id: str) -> FakePlugin:
        has = (each for each in self.plugins if id in {device.id for device in each.devices})
        return next(has, self.plugin)

    def _source(self, health: str) -> None:
        """A plugin that does not know how its devices are says that they are not well."""
        for device in self.plugin.devices:
            self.plugin.set_health(device.id, health)


def _persona(chosen: str | Persona) -> Persona:
    return persona_of(chosen) if isinstance(chosen, str) else chosen


@contextlib.contextmanager
def _kept(endpoints: Sequence[Endpoint]) -> Iterator[None]:
    """gRPC takes its socket away when it stops; that of a killed process stays."""
    kept: list[tuple[Path, Path]] = []
    for path in (Path(endpoint.path) for endpoint in endpoints):
        copy = path.with_name(f".{path.name[-12:]}")
        with contextlib.suppress(OSError):
            os.link(path, copy)
            kept.append((copy, path))
    yield
    for copy, path in kept:
        with contextlib.suppress(OSError):
            os.replace(copy, path)
            copy.unlink(missing_ok=True)  # where both are one file still
