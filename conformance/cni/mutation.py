"""The shapes of CNI mutants: a broken plugin, a broken runtime, a broken document."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from conformance.engine.mutants import Bend, Mutant, after, before
from conformance.engine.mutants.fields import put
from refimpl.cni.execute import Outcome, Request
from refimpl.cni.runtime import Profile
from refimpl.documents import json as documents

if TYPE_CHECKING:
    from refimpl.cni.lint import Report

__all__ = [
    "DocumentMutant",
    "PluginMutant",
    "RuntimeMutant",
    "document",
    "edited",
    "error",
    "printing",
    "result",
    "verb",
]

When = Callable[[Request], Any] | None


class PluginMutant(Mutant):
    """One of our fake plugins with one breach.

    `faults` are knobs of `refimpl.cni.plugins`; a method named after a verb, `(self, proceed,
    request, host) -> Outcome`, stands between the harness and the plugin. `kind` chooses the fake,
    `config` changes the document it gets.
    """

    kind: ClassVar[str] = "interface"
    faults: ClassVar[Sequence[Mapping[str, Any]]] = ()
    config: ClassVar[Mapping[str, Any]] = {}
    shaped_by = ("kind", "config")


class DocumentMutant(Mutant):
    """Our sample documents (conformance/cni/networks/samples.py) with one mistake in them.

    `puts` are the values at the paths of `file`, GONE or functions of what is there. `renames` and
    `modes` are of files, below net.d; plugins are in ../bin. Other mistakes override `break_`, a
    blind linter `seen`.
    """

    file: ClassVar[str] = "10-pods.conflist"
    puts: ClassVar[Mapping[str, Any]] = {}
    renames: ClassVar[Mapping[str, str]] = {}
    modes: ClassVar[Mapping[str, int]] = {}

    def break_(self, folder: Path) -> None:
        """Makes the mistake in a copy of the samples: `folder` is net.d."""
        path = folder / self.file
        broken = json.loads(path.read_text(encoding="utf-8"))
        for place, value in self.puts.items():
            put(broken, place, value)
        path.write_text(json.dumps(broken, indent=2), encoding="utf-8")
        for name, other in self.renames.items():
            (folder / name).rename(folder / other)
        for name, mode in self.modes.items():
            (folder / name).chmod(mode)

    def seen(self, report: Report) -> Report:
        """What lint says of one document in memory."""
        return report


class RuntimeMutant(Mutant):
    """Our own runtime with one breach.

    `changes` are choices of its profile: {"requests": {"environment": "inherited"}}. A method
    stands in front of what it is named after: `exec` (self, proceed, request, plugin) -> Outcome of
    every exec of a plugin, where `proceed` takes `deadline_s` by name as well; `add`, `delete`,
    `check`, `gc`, `status` of the library, as `refimpl.cni.runtime.Runtime` has them, after
    `proceed`; `run`, `stop`, `remove`, `readiness`, `loopback`, `networks`, `restart` of the daemon
    around it (conformance/cni/runtimes/ours.py).
    """

    changes: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def changed(self, profile: Profile) -> Profile:
        """The profile with the choices of this mutant."""
        parts = {
            part: attrs.evolve(getattr(profile, part), **choices)
            for part, choices in self.changes.items()
        }
        return attrs.evolve(profile, **parts)


def verb(name: str) -> Callable[[Request], bool]:
    """The condition that a plugin is run with this verb."""
    return lambda request: request.verb == name


def document(path: str, value: Any, *, when: When = None) -> Bend:
    """The document on stdin has this value, or what a function makes of the one it has."""

    def change(request: Request) -> Request:
        config = documents.parse(request.stdin).value
        put(config, path, value)
        return request.with_stdin(config)

    return before(change, when=when)


def result(path: str, value: Any, *, when: When = None) -> Bend:
    """The result of a success has this value, or what a function makes of the one it has."""
    return edited(lambda reply: put(reply, path, value), when=when)


def edited(edit: Callable[[dict[str, Any]], object], *, when: When = None) -> Bend:
    """The result of a success is changed in its place."""

    def change(outcome: Outcome) -> Outcome:
        if not outcome.ok:
            return outcome
        reply = outcome.document
        edit(reply)
        return printing(outcome, documents.dump(reply))

    return after(change, when=when)


def error(number: int | None, **members: Any) -> Bend:
    """The error object of a failure with this code, or ANY, has other members, or GONE ones."""

    def change(outcome: Outcome) -> Outcome:
        if outcome.ok or outcome.error is None or number not in (None, outcome.error.code):
            return outcome
        reply = outcome.document
        for name, value in members.items():
            put(reply, name, value)
        return printing(outcome, documents.dump(reply))

    return after(change)


def printing(outcome: Outcome, stdout: bytes, **members: Any) -> Outcome:
    """The outcome with something else on stdout."""
    return attrs.evolve(outcome, stdout=stdout, stdout_bytes=len(stdout), **members)
