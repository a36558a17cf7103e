"""What the engine asks of a thing under test, whichever interface it speaks."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from typing import Protocol, cast

import attrs

from conformance.engine.options import BadOption, Options
from refimpl.wire.journal import Entry


@attrs.frozen
class Loss:
    """A target that died: why, and whether it serves again (started anew by us)."""

    reason: str
    revived: bool = False


class Target(Protocol):
    """A thing under test, opened for one test process."""

    interface: str
    name: str
    version: str
    revision: str

    @property
    def secrets(self) -> Collection[str]:
        """What no report may show, even where the target says it."""

    def mark(self) -> int:
        """A place in the record of calls; `calls` tells what was called after it."""

    def calls(self, mark: int) -> list[Entry]:
        """The calls made to the target since the mark, oldest first."""

    def reproduce(self, call: Entry) -> str:
        """One shell line that repeats the call without us."""

    def lost(self) -> Loss | None:
        """What happened to a target that no longer answers; one that we started is revived."""

    def close(self) -> None:
        """Ends connections and whatever was started."""


@attrs.frozen
class Interface:
    """Where the suite of an interface lives."""

    name: str
    package: str
    title: str

    def open(self, options: Options) -> Target:
        """Connects to the target; raises BadOption, or wire.client.Unreachable."""
        module = importlib.import_module(f"{self.package}.target")
        return cast("Target", module.open_target(options))


INTERFACES = {
    "csi": Interface("csi", "conformance.csi", "Container Storage Interface drivers"),
}


def interface(name: str) -> Interface:
    """The interface of that name; raises BadOption naming those there are."""
    if name not in INTERFACES:
        raise BadOption(f"interface {name!r}: there is {', '.join(INTERFACES)}, or all")
    return INTERFACES[name]
