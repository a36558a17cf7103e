"""What the engine, the command and the reports have to know of an interface, as one record.

A suite has its record in `conformance/<interface>/interface.py`; `interfaces` lists them. A record
costs nothing to import: what opens targets is named here and loaded when it is needed.
"""

from __future__ import annotations

import fnmatch
import importlib
from collections.abc import Mapping
from typing import Any, Literal

import attrs

__all__ = ["COMMAND", "FAKES", "Interface", "Option", "Scheme", "load"]

FAKES = ("fake", "mutant", "unbroken")
"""Schemes of our own fake: whole, broken by a mutant, and whole in the shape of a mutant."""
COMMAND = "command"
"""The scheme of what follows `--` on the command line, or `command` in a target file."""


@attrs.frozen(kw_only=True)
class Option:
    """An option of the command for targets of one interface, and the setting that it sets.

    flag: without its dashes. field: of the interface's settings. reads: how its text becomes a
    value: a YAML file that holds a map of texts, or one such map a kind of call; a duration as Go
    writes them. many: it may be given several times.
    """

    flag: str
    field: str
    text: str
    metavar: str = ""
    kind: type = str
    choices: tuple[str, ...] = ()
    reads: Literal["", "map", "maps", "duration"] = ""
    many: bool = False


@attrs.frozen(kw_only=True)
class Scheme:
    """One way to name a target. shown: as a user writes it. judges: globs of the ids that make
    sense for such a target. placeholders: those that a command may have."""

    shown: str
    judges: tuple[str, ...]
    placeholders: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Interface:
    """One interface. Classes and functions are named `module:name`.

    package: where its suite lives. title: of its page of the catalogue. heading: as reports call
    it. subject: who is judged, such as "a CSI driver". prefixes: what ids begin with. catalogues:
    the files of its rows, by name below fixtures/catalogue or by path. clients_judged: globs of
    the ids that judge who calls the interface, not who serves it. targets, clients: scheme to what
    it names, on the side that serves and on the one that calls. family, revisions: of the
    specification, oldest first. settings: the class of what a user says of a target. opener:
    function from ResolvedTarget to Target. leftovers: function from ResolvedTarget to what a sweep
    works with; empty where runs leave nothing. undo: the table of how its calls are undone; empty
    where they have to be undone by other means. fakes: what `refimpl serve` calls a fake, and its
    class. mutants: their folder below fixtures/mutants, or a path; its name when empty. preload:
    modules that a run on our fakes imports. waits: its cases wait for seconds, such as the timeout
    of a call, so that several workers are worth their start.
    """

    name: str
    package: str
    title: str
    heading: str
    subject: str
    prefixes: tuple[str, ...]
    targets: Mapping[str, Scheme]
    opener: str
    settings: str
    family: str
    revisions: tuple[str, ...]
    catalogues: tuple[str, ...]
    clients: Mapping[str, Scheme] = attrs.field(factory=dict)
    clients_judged: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    leftovers: str = ""
    undo: str = ""
    fakes: Mapping[str, str] = attrs.field(factory=dict)
    mutants: str = ""
    preload: tuple[str, ...] = ()
    waits: bool = False

    def schemes(self, side: str) -> Mapping[str, Scheme]:
        """The schemes of a side: "" for what serves, `client` for what calls."""
        return self.clients if side == "client" else self.targets

    def judges_client(self, id: str) -> bool:
        """Whether the case of that id is about who calls the interface."""
        return any(fnmatch.fnmatchcase(id, glob) for glob in self.clients_judged)

    def import_fakes(self) -> None:
        """Imports what a run on our fakes needs, once for all processes forked afterwards."""
        for module in self.preload:
            importlib.import_module(module)


def load(path: str) -> Any:
    """The object that `module:name` names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
