"""What is wrong with a document: each breach with its place, its rule and what to do."""

from __future__ import annotations

from typing import Any

import attrs

from refimpl.cdi.rules import RULES, Level, Policy
from refimpl.documents import Document, DocumentError, Pointer

# A document of garbage is told from so many breaches; more would only scroll.
KEPT = 1000


@attrs.frozen
class Finding:
    """One breach of a rule. `line` and `column` count from 1; `pointer` leads to the value."""

    rule: str
    level: Level
    pointer: Pointer
    file: str
    line: int
    column: int
    text: str
    advice: str = ""

    @property
    def hint(self) -> str:
        """What to do about it."""
        return self.advice or RULES[self.rule].hint

    @property
    def source(self) -> str:
        """Where the rule is written."""
        return RULES[self.rule].source

    def to_dict(self) -> dict[str, Any]:
        """JSON form: the fields, `pointer` as RFC 6901 writes it, `hint` and `source`."""
        record = attrs.asdict(self, filter=lambda field, _: field.name != "advice")
        return record | {
            "pointer": written(self.pointer),
            "hint": self.hint,
            "source": self.source,
        }

    def __str__(self) -> str:
        place = f"{self.file}:" if self.file else ""
        return (
            f"{place}{self.line}:{self.column}: {self.level}: {self.text}; {self.hint}"
            f" [{self.rule}]"
        )


class Findings:
    """Collects the breaches of one document under one policy. `sound`: none is an error."""

    def __init__(self, policy: Policy, name: str, document: Document | None = None) -> None:
        self.policy, self.name, self.document = policy, name, document
        self.found: list[Finding] = []
        self.sound = True

    def add(self, rule: str, pointer: Pointer, text: str, *, key: bool = False) -> None:
        """Notes a breach at `pointer` (`key`: at the member's name), if the policy counts it."""
        if RULES[rule].level(self.policy) is None or not self._room(rule):
            return
        line, column = 1, 1
        if self.document is not None:
            locate = self.document.key_position if key else self.document.position
            line, column = locate(pointer)
        self._keep(rule, pointer, (line, column), text)

    def add_error(self, error: DocumentError) -> None:
        """Notes that the text is no document at all."""
        self._keep("syntax", (), (error.line, error.column), error.what, error.hint)

    def add_notes(self, document: Document) -> None:
        """Notes what the reader tolerated."""
        for note in document.notes:
            if self._room(note.kind):
                self._keep(note.kind, note.pointer, (note.line, note.column), note.text)

    def _room(self, rule: str) -> bool:
        """Whether one more is kept: the first error is, however many warnings came before it."""
        if len(self.found) < KEPT:
            return True
        return self.sound and RULES[rule].level(self.policy) == "error"

    def _keep(
        self, rule: str, pointer: Pointer, place: tuple[int, int], text: str, advice: str = ""
    ) -> None:
        level = RULES[rule].level(self.policy)
        if level is not None:
            self.sound = self.sound and level != "error"
            self.found.append(Finding(rule, level, pointer, self.name, *place, text, advice))

    def ordered(self) -> tuple[Finding, ...]:
        """As they stand in the file."""
        return tuple(sorted(self.found, key=lambda finding: (finding.line, finding.column)))


def written(pointer: Pointer) -> str:
    """A pointer as RFC 6901 writes it, "" for the whole document."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in pointer)
