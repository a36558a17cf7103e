"""The document as JSON, and what every reader needs to find in it."""

from __future__ import annotations

from collections.abc import Iterator

from refimpl.cni.config import shape
from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.rule import ABOUT_NETWORKS, Rule, about_networks
from refimpl.cni.lint.subject import Network, Source, all_sources

# row of the catalogue -> what the reader's demand is read from
DEMANDS = {
    "CNI-CFG-001": "CNI 1.1, configuration format: a JSON object",
    "CNI-CFG-002": "CNI 1.1, configuration format: name",
    "CNI-CFG-006": "CNI 1.1, configuration format: cniVersion is a semantic version",
    "CNI-CFG-007": "CNI 1.1, configuration format: cniVersions is a list of versions",
    "CNI-CFG-009": "CNI 1.1, configuration format: the flags are booleans; libcni alone takes text",
    "CNI-CFG-011": "CNI 1.1, configuration format: plugins",
    "CNI-CFG-012": "CNI 1.1, configuration format: loadOnlyInlinedPlugins needs plugins",
    "CNI-CFG-015": "CNI 1.1, plugin configuration objects: type",
    "CNI-CFG-019": "CNI 1.1, plugin configuration objects: capabilities",
    "CNI-CFG-021": "CNI 1.1, request: name and cniVersion come from the list",
    "CNI-CFG-022": "CNI 1.1, plugin configuration objects: ipam",
    "CNI-CFG-027": "CNI 1.1, plugin configuration objects: dns",
}


@about_networks("CNI-CFG-001", "RFC 8259; every loader reads strict JSON")
def unreadable(network: Network) -> Iterator[Hit]:
    """A file nobody can read, and what readers of JSON see differently."""
    for source in all_sources(network):
        if source.defect:
            yield Hit((), source.defect[2], source.defect[3], source=source)
        yield from _oddities(source)


def _oddities(source: Source) -> Iterator[Hit]:
    for note in source.document.notes if source.document else ():
        if note.kind == "byte-order-mark":
            yield Hit((), note.text, "save the file as UTF-8 without a mark", source=source)
        elif note.kind == "duplicate-key":
            fix = "keep one of them"
            yield Hit(note.pointer, note.text, fix, Severity.WARNING, source, at_name=True)


@about_networks("CNI-CFG-036", "CNI 1.1, request: members pass unchanged; libcni uses float64")
def changing_numbers(network: Network) -> Iterator[Hit]:
    """A number that reaches the plugin as another one."""
    for source in all_sources(network):
        for note in source.document.notes if source.document else ():
            if note.kind == "number":
                fix = "write an integer below 2^53, or a string if the plugin takes one"
                yield Hit(note.pointer, note.text, fix, Severity.WARNING, source)


def _demand(row: str) -> None:
    """Adds the rule that repeats what the strict reader says under one row."""

    def find(network: Network) -> Iterator[Hit]:
        if network.source.document is None:
            return
        for problem in shape.problems(network.source.value, as_single=network.single):
            if problem.row == row:
                yield _hit(problem)

    ABOUT_NETWORKS.append(Rule(row, DEMANDS[row], find))


def _hit(problem: shape.Problem) -> Hit:
    lenient = problem.row == "CNI-CFG-009" and problem.tolerated
    severity = Severity.WARNING if lenient else Severity.ERROR
    return Hit(problem.pointer, problem.text, problem.fix, severity)


for _row in DEMANDS:
    _demand(_row)
