"""What the engine asks of a thing under test, whichever interface it speaks."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Protocol

import attrs

from conformance.engine.targets.revision import Revision


def _without_numbers(text: str) -> str:
    """An index or an address is another one at the next death of the same."""
    return re.sub(r"\d+", "#", text)


@attrs.frozen
class Loss:
    """A target that died, or answers nothing: why, and whether it serves again, started anew by us
    or by somebody else. cause: what tells this death from others, a second of which is no further
    finding; empty where nobody knows.
    """

    reason: str
    revived: bool = False
    cause: str = attrs.field(default="", converter=_without_numbers)


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
    revision: Revision

    @property
    def only_warns(self) -> Collection[str]:
        """Ids whose failure is a warning, by the policy that the user chose."""

    @property
    def secrets(self) -> Collection[str]:
        """What no report may show, even where the target says it."""

    def mark(self) -> int:
        """A place in the record of calls; `calls` tells what was called after it."""

    def calls(self, mark: int) -> Sequence[Record]:
        """The calls made to the target since the mark, oldest first."""

    def reproduce(self, calls: Sequence[Any]) -> str:
        """One shell line that repeats the last of these calls without us; empty where it cannot
        work any more: what it names went with the case, or its target with the run."""

    def lost(self, *, failed: bool = True) -> Loss | None:
        """What happened to a target that no longer answers; one that we started is revived.

        failed: the case did, so that it is worth while to look closely.
        """

    def close(self) -> None:
        """Ends connections and whatever was started."""
