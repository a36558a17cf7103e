"""What a run was asked to do, as one value that travels to every test worker."""

from __future__ import annotations

import fnmatch
import re
import shlex
from typing import Any, Literal, Protocol

import msgspec

from conformance.engine.level import Level

# Exit codes, a promise to scripts.
CONFORMANT, NOT_CONFORMANT, INTERRUPTED, INTERNAL, USAGE, NOTHING_SELECTED, UNREACHABLE = range(7)


class BadOption(ValueError):
    """An option cannot be used; the text says which, why, and what would be right."""


class Selectable(Protocol):
    """What the options look at of a case."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def level(self) -> Level: ...


class Options(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """The choices of a run. `command` is what follows `--` on the command line."""

    interface: str = ""
    side: Literal["", "client"] = ""  # client: what calls the interface is under test
    target: str = "fake"
    command: tuple[str, ...] = ()
    revision: str = ""
    level: str = "may"
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    focus: str = ""
    skip_re: str = ""
    heavy: bool = False
    strict: bool = False
    expect: tuple[str, ...] = ()
    report_dir: str = ""
    seed: int = 0
    json: bool = False
    verbose: int = 0
    quiet: bool = False
    drawn: bool = False  # the terminal is ours: pytest prints nothing
    run_id: str = ""
    settings: dict[str, Any] = {}  # flag of an option of one interface -> its value

    def selects(self, case: Selectable) -> bool:
        """Whether --level, --only, --skip, --focus and --skip-re leave the case in."""
        text = f"{case.id} {case.title}"
        return (
            case.level <= Level[self.level.upper()]
            and (not self.only or _any_glob(case.id, self.only))
            and not _any_glob(case.id, self.skip)
            and (not self.focus or bool(re.search(self.focus, text)))
            and not (self.skip_re and re.search(self.skip_re, text))
        )

    @property
    def shown_target(self) -> str:
        """The target as a report names it."""
        return " ".join(self.command) or self.target

    @property
    def named_target(self) -> str:
        """The target as `refimpl sweep` takes it."""
        return f"-- {shlex.join(self.command)}" if self.command else self.target

    def check(self) -> None:
        """Raises BadOption for what only shows when it is used: levels and patterns."""
        encode(self)
        if self.level.upper() not in Level.__members__:
            raise BadOption(f"--level {self.level}: use must, should or may")
        for name, pattern in (("--focus", self.focus), ("--skip-re", self.skip_re)):
            try:
                re.compile(pattern)
            except re.error as error:
                raise BadOption(f"{name} {pattern}: not a regular expression: {error}") from error


def _any_glob(id: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(id, pattern) for pattern in patterns)


def encode(options: Options) -> str:
    """One JSON text, as the hidden pytest option carries it; raises BadOption."""
    try:
        return msgspec.json.encode(options).decode()
    except UnicodeEncodeError as error:
        raise BadOption(f"an option is {error.object!a}, which is no text in UTF-8") from error


def decode(text: str) -> Options:
    """The inverse of encode; raises BadOption."""
    try:
        return msgspec.json.decode(text, type=Options)
    except msgspec.MsgspecError as error:
        raise BadOption(f"--refimpl-options: {error}") from error
