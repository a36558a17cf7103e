"""A library behind an adapter of its own, which speaks as engine.lines says."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.cdi.implementation import EVERY, spoken
from conformance.engine.options import BadOption
from conformance.engine.targets import process
from conformance.engine.targets.lines import Lines, Message
from conformance.engine.targets.target import Loss


class LibraryAdapter:
    """Starts the command at once, and again when it died. Raises BadOption, Unreachable."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        self._lines = Lines(command)
        try:
            hello = self._lines.hello()
            self.name, self.version = str(hello["name"]), str(hello["version"])
            self.features = frozenset(hello.get("features") or ())
            if strange := self.features - EVERY:
                raise BadOption(
                    f"{self.name}: feature {', '.join(sorted(strange))}: there are {sorted(EVERY)}"
                )
        except BaseException:
            self.close()
            raise

    def answer(self, act: str, request: Message) -> Message:
        """The reply to one act; raises Gone where the adapter died over it."""
        return self._lines.answer(act, request)

    def resident(self) -> int:
        """The memory of the adapter, in bytes; 0 where that cannot be seen."""
        return process.resident(self._lines.pid) if self._lines.pid else 0

    def lost(self) -> Loss | None:
        """How it died since the last look; its next act starts it again."""
        died, self._lines.died = self._lines.died, ""
        return Loss(died, revived=True) if died else None

    def repeat(self, opened: Message | None, act: str, request: Message) -> str:
        """The shell line that says the same to the adapter."""
        return spoken(self.command, opened, act, request)

    def close(self) -> None:
        """Ends the adapter."""
        self._lines.close()
