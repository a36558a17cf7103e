"""What lint says: one finding a place, always with a rule and with what to do."""

from __future__ import annotations

import enum
from typing import Any

import attrs

from refimpl.cni.lint.subject import Source
from refimpl.documents import Pointer

LONGEST = 600


class Severity(enum.StrEnum):
    """ERROR: some loader or plugin fails. WARNING: works, not as meant. INFO: worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@attrs.frozen
class Hit:
    """What a rule found, in the rule's terms: `source` None is the subject's own document.

    `at_name`: the place is the member's name, not its value.
    """

    pointer: Pointer
    message: str
    fix: str
    severity: Severity = Severity.ERROR
    source: Source | None = None
    at_name: bool = False


@attrs.frozen
class Finding:
    """`id` is the row of the catalogue, line and column count from 1, `rule` cites the source."""

    id: str
    severity: Severity
    file: str
    line: int
    column: int
    message: str
    rule: str
    fix: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}"
        return f"{place}: {self.severity} {self.id}: {self.message}; {self.fix} ({self.rule})"

    def to_dict(self) -> dict[str, Any]:
        """JSON form: the fields by their names."""
        return attrs.asdict(self, value_serializer=lambda _i, _f, value: _plain(value))


def visible(text: str) -> str:
    """One line that a terminal shows as it is: whatever would steer it is escaped, long is cut."""
    shortened = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in shortened)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Severity) else value
