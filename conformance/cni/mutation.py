"""The shapes of CNI mutants: a broken plugin, a broken runtime, a broken document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from conformance.engine.mutants import Mutant

if TYPE_CHECKING:
    from refimpl.cni.lint import Report
from refimpl.cni.runtime import Profile


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

    `file` is the document that `edit` gets decoded; it may change that or return another value.
    Mistakes of the directory override `break_`, a blind linter `seen`.
    """

    file: ClassVar[str] = "10-pods.conflist"

    def edit(self, document: Any) -> Any:
        """The mistake; None for a document changed in its place."""

    def break_(self, folder: Path) -> None:
        """Makes the mistake in a copy of the samples: `folder` is net.d, plugins are in ../bin."""
        path = folder / self.file
        document = json.loads(path.read_text(encoding="utf-8"))
        other = self.edit(document)
        text = json.dumps(document if other is None else other, indent=2)
        path.write_text(text, encoding="utf-8")

    def seen(self, report: Report) -> Report:
        """What lint says of one document in memory."""
        return report


class RuntimeMutant(Mutant):
    """Our own runtime with one breach.

    `changes` are choices of its profile: {"requests": {"environment": "inherited"}}. A method
    stands in front of what it is named after: `exec` (self, proceed, request, plugin) -> Outcome of
    every exec of a plugin, where `proceed` takes `plugin` and `deadline_s` by name; `add`,
    `delete`, `check`, `gc`, `status` of the library, as `refimpl.cni.runtime.Runtime` has them,
    after `proceed`; `run`, `stop`, `remove`, `readiness`,
    `loopback`, `networks`, `restart` of the daemon around it (conformance/cni/runtimes/ours.py).
    """

    changes: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def changed(self, profile: Profile) -> Profile:
        """The profile with the choices of this mutant."""
        made = {
            part: attrs.evolve(getattr(profile, part), **fields)
            for part, fields in self.changes.items()
        }
        return attrs.evolve(profile, **made)
