"""Network configurations under test: linted once, then asked by each case for its own rule."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance.cni.divergences import warned
from conformance.engine.options import BadOption
from conformance.engine.resolve import ResolvedTarget
from conformance.engine.target import Loss
from conformance.engine.verdict import Broken, Doubtful
from refimpl.cni import contract, lint
from refimpl.cni.lint import Finding, Report, Severity
from refimpl.cni.lint.ask import versions_of
from refimpl.cni.lint.finding import visible
from refimpl.cni.lint.subject import Folder, Network
from refimpl.wire.client import Unreachable

SHOWN = 6
"""Findings of one rule that a case tells whole; `refimpl cni lint` shows all of them."""

_MEANING = {
    Severity.ERROR: "a runtime or a plugin fails over it",
    Severity.WARNING: "it works, but not everywhere or not as meant",
}
LintBytes = Callable[..., Report]


class Documents:
    """A directory of network configurations, or one of them.

    cni_path: directories of the plugins, none when it is not known where they are. lint_bytes:
    lint of one document in memory.
    """

    def __init__(
        self,
        path: Path,
        *,
        cni_path: Sequence[Path] = (),
        seed: int = 0,
        lint_bytes: LintBytes = lint.lint_bytes,
    ) -> None:
        self.path, self.seed, self.lint_bytes = path, seed, lint_bytes
        self._cni_path = tuple(cni_path)

    @cached_property
    def report(self) -> Report:
        """Everything that lint finds."""
        return lint.lint([self.path], cni_path=self._cni_path, versions_of=versions_of)

    @property
    def folder(self) -> Folder:
        """What was read: networks, and what lies beside them."""
        return self.report.checked[0].folder

    @property
    def networks(self) -> list[Network]:
        """The networks whose document is an object."""
        networks = self.folder.networks
        return [network for network in networks if isinstance(network.source.value, dict)]

    # What needs ask

    @property
    def unread(self) -> str:
        """See needs.READ."""
        return "" if self.networks else "no document can be read, see CNI-CFG-001"

    @property
    def alone(self) -> str:
        """See needs.DIRECTORY."""
        return "one file is no directory: dir:DIR judges one" if self.folder.alone else ""

    @property
    def no_plugins(self) -> str:
        """See needs.INSTALLED."""
        return "" if self._cni_path else "--cni-path does not say where the plugins are"

    # What cases ask

    def keep(self, row: str) -> None:
        """The documents keep to that row of the catalogue.

        Raises Broken for findings of which one is an error, Doubtful where all are warnings.
        Infos, which there are on sound documents too, count for nothing.
        """
        found = self.breaches(row)
        if found:
            grave = any(finding.severity is Severity.ERROR for finding in found)
            raise (Broken if grave else Doubtful)(
                self._told(found), self._fixes(found), _sum(found)
            )

    def breaches(self, row: str) -> list[Finding]:
        """The errors and warnings of that row."""
        found = self.report.findings
        return [one for one in found if one.id == row and one.severity is not Severity.INFO]

    def _told(self, found: Sequence[Finding]) -> str:
        """`10-net.conflist:3:11: what`, one line a finding."""
        lines = [f"{self._place(finding)}: {finding.message}" for finding in found[:SHOWN]]
        if len(found) > SHOWN:
            more = f"and {len(found) - SHOWN} more, see refimpl cni lint {self.path}"
            lines.append(more)
        return ";\n".join(lines)

    def _fixes(self, found: Sequence[Finding]) -> str:
        """What to do, once where it is the same everywhere."""
        fixes = {f"{finding.fix} ({finding.rule})" for finding in found[:SHOWN]}
        if len(fixes) == 1:
            return fixes.pop()
        lines = [f"{self._place(one)}: {one.fix} ({one.rule})" for one in found[:SHOWN]]
        return ";\n".join(lines)

    def _place(self, finding: Finding) -> str:
        """file:line:column, the file as seen from the directory."""
        name = finding.file.removeprefix(f"{visible(str(self.folder.path))}{os.sep}")
        return f"{name}:{finding.line}:{finding.column}"


def _sum(found: Iterable[Finding]) -> str:
    """`2 errors: ...`, and the warnings."""
    counts = Counter(finding.severity for finding in found)
    return "; ".join(
        f"{counts[severity]} {severity}{'s' * (counts[severity] > 1)}: {meaning}"
        for severity, meaning in _MEANING.items()
        if counts[severity]
    )


class DocumentsTarget:
    """Documents of somebody as a target: nothing is called, nothing is changed."""

    interface = "cni"
    version = ""
    secrets: Collection[str] = ()

    def __init__(self, documents: Documents, resolved: ResolvedTarget) -> None:
        count = len(documents.folder.networks)
        self.documents = documents
        self.name = f"{count} network{'s' * (count != 1)}"
        self.revision = resolved.judged_by(contract.LATEST)
        self.only_warns = warned(resolved)

    def mark(self) -> int:
        """See Target."""
        return 0

    def calls(self, mark: int) -> list[Any]:  # noqa: ARG002
        """See Target: none."""
        return []

    def reproduce(self, call: object) -> str:  # noqa: ARG002
        """See Target."""
        return f"refimpl cni lint {self.documents.path}"

    def lost(self) -> Loss | None:
        """See Target: all was read at the start."""
        return None

    def close(self) -> None:
        """See Target."""


def open_documents(resolved: ResolvedTarget) -> DocumentsTarget:
    """Opens `dir:DIR` and `file:FILE`.

    Raises Unreachable where there is nothing to judge, BadOption for a --cni-path of no use.
    """
    path = Path(resolved.address)
    reason = _missing(resolved.scheme, path)
    if reason:
        raise Unreachable(reason)
    documents = Documents(path, cni_path=_directories(resolved.settings.path), seed=resolved.seed)
    reason = _nothing(documents.folder)
    if reason:
        raise Unreachable(reason)
    return DocumentsTarget(documents, resolved)


def _missing(kind: str, path: Path) -> str:
    """Why the target is not what its kind says; "" where it is."""
    if not path.name and kind == "file":
        return "file: names no file; use for example file:net.conflist"
    if not os.path.lexists(path):
        return f"{path}: no such file or directory; {kind}: takes network configurations"
    if path.is_dir() != (kind == "dir"):
        other = "file" if kind == "dir" else "dir"
        return f"{path}: this is no {'directory' if kind == 'dir' else 'file'}; use {other}:{path}"
    return ""


def _nothing(folder: Folder) -> str:
    """Why there is nothing to judge; a file that is no JSON is something."""
    if folder.defect:
        return f"{folder.path}: {folder.defect}"
    if not folder.networks:
        strays = ", ".join(visible(path.name) for path in folder.strays[:3])
        beside = f"only {strays}{', ...' * (len(folder.strays) > 3)}" if strays else "nothing"
        return f"{folder.path}: no *.conflist, *.conf or *.json is in it, {beside}"
    source = folder.networks[0].source
    if folder.alone and source.defect and source.status is None:
        return f"{source.path}: {source.defect[2]}"
    return ""


def _directories(cni_path: str) -> list[Path]:
    """The directories of --cni-path; raises BadOption."""
    found = [Path(part) for part in cni_path.split(os.pathsep) if part]
    for path in found:
        if not path.is_dir():
            raise BadOption(f"--cni-path: {path} is no directory; name directories of plugins")
    return found
