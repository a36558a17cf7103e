"""The shapes of CDI mutants: our implementation with one breach."""

from __future__ import annotations

import abc
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from conformance.engine.mutants import Mutant
from refimpl.documents import DocumentError, yaml

if TYPE_CHECKING:
    from conformance.cdi.inprocess import InProcess

Message = dict[str, Any]
Proceed = Callable[[Message], Message]


class CdiMutant(Mutant):
    """A method named after an act, `(self, proceed, request) -> reply`, stands between the suite
    and our implementation; `proceed(request)` is the right answer. `choices` are what it decides
    differently when it injects (refimpl.cdi.InjectionChoices).
    """

    choices: ClassVar[Mapping[str, bool]] = {}
    fake: InProcess


class Misreading(CdiMutant):
    """An implementation that takes a document for another one: `read` changes it or gives one
    back, before anything is judged. What is no document stays as it is.
    """

    @abc.abstractmethod
    def read(self, document: Any, name: str) -> Any:
        """What the document of that file is taken for."""

    def open(self, proceed: Proceed, request: Message) -> Message:
        """Puts what was understood in the place of what was written."""
        for path in files(request):
            try:
                document = yaml.parse(path.read_bytes()).value
            except DocumentError:
                continue
            if isinstance(document, dict):
                path.write_text(json.dumps(self.read(document, path.name), default=str))
        return proceed(request)


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
        found = owner.get("containerEdits") if isinstance(owner, dict) else None
        if isinstance(found, dict):
            yield found


def items(document: Any, member: str) -> Iterator[Message]:
    """Every item of that kind in the edits of a document."""
    for found in edits(document):
        yield from (each for each in found.get(member, ()) if isinstance(each, dict))
