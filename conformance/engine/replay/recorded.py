"""One finding of an event stream, and the options with which it is looked for again."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import msgspec

from conformance.engine import cases
from conformance.engine.events import CaseDone, Event, Run
from conformance.engine.interfaces import interface_of
from conformance.engine.options import BadOption, Options
from refimpl.wire.secrets import MASK

__all__ = ["Recorded"]

# Of a run's choices those that say which target it was, and what was drawn by lot.
_KEPT = ("side", "target", "command", "revision", "seed", "settings")
_REASONS = {
    "pass": "it passed, so there is nothing to show",
    "skip": "it was skipped, so nothing was found",
    "xpass": "it passed, against what was expected, so there is nothing to show",
}


@attrs.frozen
class Recorded:
    """A case that failed or warned in a run. before: the ids of the cases that ran before it."""

    run: Run
    done: CaseDone
    before: tuple[str, ...]

    @classmethod
    def find(cls, stream: Sequence[Event], id: str, name: str) -> Recorded:
        """The finding of case `id`; raises BadOption where there is none. name: of the stream."""
        run = next(event for event in stream if isinstance(event, Run))
        ran = [event for event in stream if isinstance(event, CaseDone)]
        ids = [done.id for done in ran]
        if id not in ids:
            raise BadOption(_unknown(id, ids, name))
        done = ran[ids.index(id)]
        if done.outcome in _REASONS:
            raise BadOption(f"{id} in {name}: {_REASONS[done.outcome]}")
        if id not in cases.found(interface_of(id)):
            raise BadOption(f"{id}: this version has no such case; the run was made by {run.suite}")
        return cls(run, done, tuple(ids[: ids.index(id)]))

    @property
    def looks_back(self) -> bool:
        """Whether the case judges what the cases before it have seen."""
        function = cases.found(interface_of(self.done.id))[self.done.id].function
        return any(mark.name == "looks_back" for mark in getattr(function, "pytestmark", ()))

    def options(
        self,
        *,
        target: str = "",
        command: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
        whole: bool = False,
    ) -> Options:
        """What judges the case alone, or after those before it, on the target of the run.

        target, command: another one. settings: on top of those of the run. Raises BadOption where
        the run had secrets, which no record keeps, and none are given.
        """
        chosen = {key: value for key, value in self.run.config.items() if key in _KEPT}
        if target or command:
            chosen |= {"target": target or "fake", "command": tuple(command)}
        merged = {**chosen.get("settings", {}), **(settings or {})}
        hidden = [flag for flag, value in merged.items() if value in (MASK, "***")]
        if hidden:
            raise BadOption(
                f"the run was given --{hidden[0]}, which is not on record: give it again"
            )
        chosen["settings"] = merged
        ids = (*self.before, self.done.id) if whole else (self.done.id,)
        interface = interface_of(self.done.id)
        return msgspec.convert(
            {**chosen, "interface": interface, "only": ids, "heavy": True}, Options
        )


def _unknown(id: str, ids: Sequence[str], name: str) -> str:
    near = difflib.get_close_matches(id, ids, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{name}: no case {id} ran there{hint}"
