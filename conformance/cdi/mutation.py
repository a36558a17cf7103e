"""The shapes of CDI mutants: our implementation with one breach."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from conformance.engine.mutants import Bend, Mutant, after, before
from conformance.engine.mutants.fields import put
from refimpl.documents import DocumentError, yaml

if TYPE_CHECKING:
    from refimpl.cdi import Cache
    from refimpl.cdi.host import Lookup

Message = dict[str, Any]
Proceed = Callable[[Message], Message]


class Bendable(Protocol):
    """What of our implementation a mutant reaches. lookup: finds the host's device nodes."""

    caches: dict[int, Cache]
    lookup: Lookup

    def answer(self, act: str, request: Message) -> Message:
        """The reply to an act, with the breach."""


class CdiMutant(Mutant):
    """A method named after an act, `(self, proceed, request) -> reply`, stands between the suite
    and our implementation; `proceed(request)` is the right answer. `choices` are what it decides
    differently when it injects (refimpl.cdi.InjectionChoices).
    """

    choices: ClassVar[Mapping[str, bool]] = {}
    fake: Bendable


def reads(change: Callable[[Message], Message | None], *, suffix: str = "") -> Bend:
    """A bend of `open`: each document is taken for what `change` makes of it, before anything is
    judged; None for one changed in its place. `suffix`: of files with that name only. What is no
    document stays as it is.
    """

    def misread(request: Message) -> None:
        for path in files(request):
            try:
                document = yaml.parse(path.read_bytes()).value
            except DocumentError:
                continue
            if isinstance(document, dict) and path.name.endswith(suffix):
                other = change(document)
                text = json.dumps(document if other is None else other, default=str)
                path.write_text(text)

    return before(misread)


def misreads(path: str, value: Any, *, suffix: str = "") -> Bend:
    """A bend of `open`: each document is taken for one with this value, or with what a function
    makes of its own. A path from `edits` on leads through the edits of file and devices.
    """
    start, _, rest = path.partition(".")

    def change(document: Message) -> None:
        for owner in edits(document) if start == "edits" else [document]:
            put(owner, rest if start == "edits" else path, value)

    return reads(change, suffix=suffix)


def rejects(condition: Callable[[Message], Any]) -> Bend:
    """A bend of `open`: documents of which that is so are taken for none."""
    return reads(lambda document: {} if condition(document) else None)


def injects(path: str, value: Any) -> Bend:
    """A bend of `inject`: the config that comes of it has this value, or what a function makes of
    the one that it has."""

    def change(reply: Message) -> None:
        if "error" not in reply:
            put(reply["config"], path, value)

    return after(change)


def files(request: Message) -> Iterator[Path]:
    """The files of the directories that are opened."""
    for directory in map(Path, request["directories"]):
        if directory.is_dir():
            yield from sorted(path for path in directory.glob("*.*") if path.is_file())


def edits(document: Any) -> Iterator[Message]:
    """Every containerEdits of a document that is an object."""
    listed = document.get("devices")
    owners = [document, *(listed if isinstance(listed, list) else ())]
    for owner in owners:
        inner = owner.get("containerEdits") if isinstance(owner, dict) else None
        if isinstance(inner, dict):
            yield inner
