"""What the engine asks of a thing under test, whichever interface it speaks."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Sequence
from typing import Any, Protocol, cast

import attrs

from conformance.engine.options import BadOption, Options


@attrs.frozen
class Loss:
    """A target that died: why, and whether it serves again (started anew by us)."""

    reason: str
    revived: bool = False


class Record(Protocol):
    """One call to a target, or one exec of it, as findings and reports show it."""

    @property
    def rpc(self) -> str:
        """What was called, in a word or two."""

    @property
    def code(self) -> Any:
        """How it ended: true when it was refused or failed; `name` is a word for it."""

    def to_dict(self) -> dict[str, Any]:
        """JSON values under the keys of a journal line, secrets replaced."""


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

    def calls(self, mark: int) -> Sequence[Record]:
        """The calls made to the target since the mark, oldest first."""

    def reproduce(self, call: Any) -> str:
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
        return cast("Target", self._module().open_target(options))

    def sweeper(self, options: Options) -> Any:
        """What undoes the ledgers of killed runs: `left_by`, `undo`, `close`; raises as `open`."""
        module = self._module()
        return getattr(module, "open_leftovers", module.open_target)(options)

    def concerns(self, options: Options) -> tuple[str, ...]:
        """Globs of the ids that make sense for such a target: a CNI plugin is no runtime."""
        ask = getattr(self._module(), "concerns", None)
        return tuple(ask(options)) if ask else ("*",)

    def only_told(self, options: Options) -> Collection[str]:
        """Ids whose failure is a warning by the policy that the user chose."""
        ask = getattr(self._module(), "only_told", None)
        return frozenset(ask(options)) if ask else frozenset()

    def judges(self, side: str) -> bool:
        """Whether there are cases about that side: "" for what serves, `client`."""
        return side in getattr(self._module(), "SIDES", ("",))

    def preload(self) -> None:
        """Imports what a run against our fakes needs, once for all processes forked afterwards."""
        self._module().preload()

    def _module(self) -> Any:
        return importlib.import_module(f"{self.package}.target")


INTERFACES = {
    "csi": Interface("csi", "conformance.csi", "Container Storage Interface drivers"),
    "cni": Interface("cni", "conformance.cni", "Container Network Interface: plugins, runtimes"),
    "cdi": Interface("cdi", "conformance.cdi", "Container Device Interface: libraries, runtimes"),
    "deviceplugin": Interface(
        "deviceplugin",
        "conformance.deviceplugin",
        "Device plugins, plugin registration, pod resources: plugins and kubelets",
    ),
}


def interface(name: str) -> Interface:
    """The interface of that name; raises BadOption naming those there are."""
    if name not in INTERFACES:
        raise BadOption(f"interface {name!r}: there is {', '.join(INTERFACES)}, or all")
    return INTERFACES[name]
