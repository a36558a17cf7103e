"""Network configurations under test: linted once, then asked by each case for its own rule."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from conformance.engine.verdict import Broken, Doubtful
from refimpl.cni import lint
from refimpl.cni.lint import Finding, Report, Severity
from refimpl.cni.lint.ask import versions_of
from refimpl.cni.lint.finding import visible
from refimpl.cni.lint.subject import Folder, Network

FEATURES = ("read", "directory", "installed")
"""What documents may lack; conformance.cni.needs has the needs."""

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

    @property
    def lacks(self) -> Mapping[str, str]:
        """Feature -> why they have not got it, empty where they have."""
        alone = "one file is no directory: dir:DIR judges one"
        return {
            "read": "" if self.networks else "no document can be read, see CNI-CFG-001",
            "directory": alone if self.folder.alone else "",
            "installed": "" if self._cni_path else "--cni-path does not say where the plugins are",
        }

    # What cases ask

    def keep(self, row: str) -> None:
        """The documents keep to that row of the catalogue.

        Raises Broken for findings of which one is an error, Doubtful where all are warnings.
        Infos, which there are on sound documents too, count for nothing.
        """
        breaches = self.breaches(row)
        if breaches:
            grave = any(finding.severity is Severity.ERROR for finding in breaches)
            raise (Broken if grave else Doubtful)(
                self._lines(breaches), self._fixes(breaches), _sum(breaches)
            )

    def breaches(self, row: str) -> list[Finding]:
        """The errors and warnings of that row."""
        every = self.report.findings
        return [one for one in every if one.id == row and one.severity is not Severity.INFO]

    def _lines(self, breaches: Sequence[Finding]) -> str:
        """`10-net.conflist:3:11: what`, one line a finding."""
        lines = [f"{self._place(finding)}: {finding.message}" for finding in breaches[:SHOWN]]
        if len(breaches) > SHOWN:
            more = f"and {len(breaches) - SHOWN} more, see refimpl cni lint {self.path}"
            lines.append(more)
        return ";\n".join(lines)

    def _fixes(self, breaches: Sequence[Finding]) -> str:
        """What to do, once where it is the same everywhere."""
        fixes = {f"{finding.fix} ({finding.rule})" for finding in breaches[:SHOWN]}
        if len(fixes) == 1:
            return fixes.pop()
        lines = [f"{self._place(one)}: {one.fix} ({one.rule})" for one in breaches[:SHOWN]]
        return ";\n".join(lines)

    def _place(self, finding: Finding) -> str:
        """file:line:column, the file as seen from the directory."""
        name = finding.file.removeprefix(f"{visible(str(self.folder.path))}{os.sep}")
        return f"{name}:{finding.line}:{finding.column}"


def _sum(breaches: Iterable[Finding]) -> str:
    """`2 errors: ...`, and the warnings."""
    counts = Counter(finding.severity for finding in breaches)
    return "; ".join(
        f"{counts[severity]} {severity}{'s' * (counts[severity] > 1)}: {meaning}"
        for severity, meaning in _MEANING.items()
        if counts[severity]
    )
