"""What every rig has: a program that is started, waited for, and gone with all that is of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Self

from conformance.engine.verdict import Broken, eventually

__all__ = ["Rig"]


class Rig(ABC):
    """A context manager around one program, which writes to `log`."""

    log: Path

    @abstractmethod
    def start(self) -> Self:
        """Starts the program and waits until it can be used."""

    @abstractmethod
    def running(self) -> bool:
        """Whether the program is alive."""

    @abstractmethod
    def close(self) -> None:
        """Ends the program and all that is of it, in whatever state; once is enough."""

    def until(self, condition: Callable[[], object], what: str, limit_s: float = 20.0) -> None:
        """Waits for the condition; raises Broken with the end of the log after the limit, or when
        the program has ended."""
        try:
            eventually(lambda: condition() or not self.running(), limit_s, what)
        except Broken as broken:
            raise Broken(what, broken.wanted, f"{broken.got}\n{self.last_words()}") from None
        if not self.running():
            raise Broken(what, "a program that runs", f"it has ended\n{self.last_words()}")

    def last_words(self, lines: int = 10) -> str:
        """The end of the log, for a message."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_exception: object) -> None:
        self.close()
