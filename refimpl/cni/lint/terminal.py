"""A report for people: 80 columns, colours by whoever prints it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator

from refimpl.cni.lint.check import Checked, Report
from refimpl.cni.lint.finding import Finding, Severity, visible
from refimpl.cni.lint.runtimes import Choice
from refimpl.cni.lint.subject import Network

WIDTH = 80
# paint(text, what): what is "error", "warning", "info", "file" or "faint"
Paint = Callable[[str, str], str]


def plain(text: str, what: str) -> str:  # noqa: ARG001
    """No colours."""
    return text


def lines(report: Report, paint: Paint = plain) -> Iterator[str]:
    """The findings by file, what runtimes make of each folder, and the count."""
    file = ""
    for finding in report.findings:
        if finding.file != file:
            yield from ("",) * bool(file)
            file = finding.file
            yield paint(file, "file")
        yield from _finding(finding, paint)
    for checked in report.checked:
        if checked.choices:
            yield from ("",) * bool(report.findings)
            yield from _folder(checked, paint)
    yield from ("",) * bool(report.findings or any(one.choices for one in report.checked))
    yield _count(report)


def _finding(finding: Finding, paint: Paint) -> Iterator[str]:
    severity = paint(str(finding.severity), str(finding.severity))
    yield f"  {finding.line}:{finding.column} {severity} {finding.id}"
    yield from _wrapped(finding.message, 4, 4)
    yield from _wrapped(f"fix: {finding.fix}", 4, 9)
    yield from (paint(line, "faint") for line in _wrapped(f"rule: {finding.rule}", 4, 10))


def _folder(checked: Checked, paint: Paint) -> Iterator[str]:
    yield paint(f"What each runtime does with {visible(str(checked.folder.path))}", "file")
    for network in checked.folder.networks:
        yield from _wrapped(_network(network), 2, 4)
    for choice in checked.choices:
        yield from _choice(choice, paint)


def _network(network: Network) -> str:
    plugins = ", ".join(plugin.type or "?" for plugin in network.plugins) or "no plugins"
    name = f'network "{network.name}"' if network.name else "no network"
    version = f" at {network.version}" if network.version and network.name else ""
    return f"{network.source.path.name}: {name}{version}: {plugins}"


def _choice(choice: Choice, paint: Paint) -> Iterator[str]:
    """The default, what else can be asked for, and what takes no part."""
    yield f"  {choice.runtime}"
    used = f"uses {choice.uses} ({choice.why})" if choice.uses else choice.why
    yield from _wrapped(used, 4, 6)
    others = [f"{name} ({file})" for name, file in choice.networks.items() if file != choice.uses]
    if others:
        yield from _wrapped("by name: " + ", ".join(others), 4, 6)
    for file, why in choice.skipped.items():
        yield from (paint(line, "faint") for line in _wrapped(f"not {file}: {why}", 4, 6))


def _count(report: Report) -> str:
    counts = Counter(finding.severity for finding in report.findings)
    words = [
        f"{counts[severity]} {severity}" + ("s" if counts[severity] != 1 else "")
        for severity in (Severity.ERROR, Severity.WARNING)
    ]
    return ", ".join([*words, f"{counts[Severity.INFO]} info"])


def _wrapped(text: str, first: int, rest: int) -> list[str]:
    return textwrap.wrap(
        visible(text), WIDTH, initial_indent=" " * first, subsequent_indent=" " * rest
    )
