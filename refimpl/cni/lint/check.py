"""Lint itself: every rule on every subject, and what comes out of that."""

from __future__ import annotations

import contextlib
import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

import refimpl.cni.lint.rules  # noqa: F401
from refimpl.cni.lint.finding import Finding, Hit, Severity, visible
from refimpl.cni.lint.rule import (
    ABOUT_FOLDERS,
    ABOUT_INSTALLED,
    ABOUT_NETWORKS,
    Installed,
    Rule,
    Subject,
    Unanswered,
)
from refimpl.cni.lint.rules.installed import locate
from refimpl.cni.lint.runtimes import Choice, choices
from refimpl.cni.lint.subject import Folder, Network, Source, read_folder, read_network, source_of

# A hostile document must not become a million findings of one rule.
MOST = 200

Versions = Callable[[Path], list[str]]


@attrs.frozen
class Checked:
    """One path that was asked for, read, with the choices of the runtimes where it is a folder."""

    folder: Folder
    choices: tuple[Choice, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON form: path, networks with their effective plugins, what each runtime does."""
        networks = [
            {
                "file": str(network.source.path),
                "name": network.name,
                "version": network.version,
                "plugins": [plugin.type for plugin in network.plugins],
            }
            for network in self.folder.networks
        ]
        runtimes = [choice.to_dict() for choice in self.choices]
        return {"path": str(self.folder.path), "networks": networks, "runtimes": runtimes}


@attrs.frozen
class Report:
    """All findings, in the order of files and lines, and what was read."""

    findings: tuple[Finding, ...]
    checked: tuple[Checked, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether there is a finding of severity error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """JSON form: findings, checked, counts by severity."""
        counts = Counter(str(finding.severity) for finding in self.findings)
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "checked": [checked.to_dict() for checked in self.checked],
            "counts": {str(severity): counts[severity] for severity in Severity},
        }


def lint(
    paths: Iterable[Path | str],
    *,
    cni_path: Sequence[Path] = (),
    versions_of: Versions | None = None,
) -> Report:
    """Checks files and folders of network configurations. Never raises, whatever they hold.

    `cni_path`: directories of plugins; without any, installed plugins are not looked at.
    `versions_of`: asks a plugin for its versions (may raise Unanswered); nothing else is run.
    """
    folders = tuple(cni_path)
    ask = functools.cache(versions_of) if versions_of else None
    findings: dict[Finding, None] = {}
    checked = []
    for path in map(Path, paths):
        folder = _read(path)
        obstacle = functools.partial(_obstacle, folders=folders, ask=ask)
        decided = () if folder.alone or folder.defect else tuple(choices(folder, obstacle))
        checked.append(Checked(folder, decided))
        findings.update(dict.fromkeys(_findings(folder, folders, ask)))
    return Report(tuple(findings), tuple(checked))


def lint_bytes(data: bytes, *, name: str = "network.conflist") -> Report:
    """Checks one document in memory as if it were a file of that name, alone in its folder."""
    network = Network(source_of(data, Path(name)))
    folder = Folder(Path(name).parent, (network,), alone=True)
    return Report(tuple(dict.fromkeys(_findings(folder, (), None))), (Checked(folder),))


def _read(path: Path) -> Folder:
    if os.path.isdir(path):
        return read_folder(path)
    return Folder(path.parent, (read_network(path),), alone=True)


def _obstacle(network: Network, folders: tuple[Path, ...], ask: Versions | None) -> str:
    """Why a runtime that looks at the plugins while loading leaves the network out."""
    if not folders:
        return ""
    for name in (plugin.type for plugin in network.plugins if plugin.type):
        program = locate(name, folders)
        if program is None:
            return f'plugin "{name}" is not installed'
        if ask is not None:
            with contextlib.suppress(Unanswered, OSError, ValueError):
                if network.version and network.version not in ask(program):
                    return f'plugin "{name}" does not support version {network.version}'
                continue
            return f'plugin "{name}" does not tell its versions'
    return ""


def _findings(folder: Folder, path: tuple[Path, ...], ask: Versions | None) -> list[Finding]:
    findings = list(_apply(ABOUT_FOLDERS, folder, Source(folder.path)))
    for network in folder.networks:
        findings += _apply(ABOUT_NETWORKS, network, network.source)
        if path:
            installed = Installed(network, path, ask)
            findings += _apply(ABOUT_INSTALLED, installed, network.source)
    return sorted(findings, key=lambda one: (one.file, one.line, one.column, one.id))


def _apply(rules: Iterable[Rule[Subject]], subject: Subject, own: Source) -> Iterator[Finding]:
    for rule in rules:
        for number, hit in enumerate(rule.find(subject)):
            if number == MOST:
                more = f"more than {MOST} of these: {hit.message}"
                yield _finding(rule, attrs.evolve(hit, message=more), own)
                break
            yield _finding(rule, hit, own)


def _finding(rule: Rule[Subject], hit: Hit, own: Source) -> Finding:
    """The hit with its place: of a file that is no document, that of the defect."""
    source = hit.source or own
    line, column = source.defect[:2] if source.defect else source.place(hit.pointer, hit.at_name)
    file, message, fix = visible(str(source.path)), visible(hit.message), visible(hit.fix)
    return Finding(rule.id, hit.severity, file, line, column, message, rule.source, fix)
