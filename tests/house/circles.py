"""Finds modules that import each other, in however many steps, and fails if there are any.

`python tests/house/circles.py` is part of `tox -e lint`. An import counts wherever it stands: one
inside a function or under TYPE_CHECKING only hides that two modules cannot be read one by one.
"""

from __future__ import annotations

import itertools
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("refimpl", "conformance")

Knot = frozenset[str]
"""Modules of which each imports every other one, directly or through others of them."""

KNOWN: tuple[Knot, ...] = ()
"""Knots that are still to be undone: theirs are the only circles that do not fail."""


def knots(graph: grimp.ImportGraph) -> list[Knot]:
    """The knots of a graph of imports, each as large as it is; sorted, none without circles."""
    reached = {module: _reached(graph, module) for module in graph.modules}
    knotted = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in graph.modules
        if module in reached[module]
    }
    return sorted(knotted, key=sorted)


def _reached(graph: grimp.ImportGraph, module: str) -> set[str]:
    """What the module imports, directly or through others; itself only if it is on a circle."""
    reached: set[str] = set()
    pending = [module]
    while pending:
        imported = graph.find_modules_directly_imported_by(pending.pop()) - reached
        reached |= imported
        pending.extend(imported)
    return reached


def circle(graph: grimp.ImportGraph, knot: Knot) -> list[str]:
    """The modules of a shortest circle through the first module of a knot, which ends the list."""
    start = min(knot)
    chains = deque([[start]])
    visited: set[str] = set()
    while True:
        chain = chains.popleft()
        for module in sorted(graph.find_modules_directly_imported_by(chain[-1]) & knot - visited):
            if module == start:
                return [*chain, start]
            visited.add(module)
            chains.append([*chain, module])


def describe(graph: grimp.ImportGraph, knot: Knot) -> Iterable[str]:
    """A line on a knot, and one for each import of a circle in it."""
    yield f"{len(knot)} modules import each other: {', '.join(sorted(knot))}"
    chain = circle(graph, knot)
    for importer, imported in itertools.pairwise(chain):
        (line, *_) = graph.get_import_details(importer=importer, imported=imported)
        yield f"  {importer}, line {line['line_number']}: {line['line_contents'].strip()}"


def problems(graph: grimp.ImportGraph, known: Sequence[Knot]) -> list[str]:
    """Lines on knots that go beyond the known ones, and on known ones that are undone."""
    knotted = knots(graph)
    lines: list[str] = []
    for knot in knotted:
        if not any(knot <= allowed for allowed in known):
            lines += describe(graph, knot)
    for allowed in known:
        if not any(knot <= allowed for knot in knotted):
            lines.append(f"undone, take it out of KNOWN: {', '.join(sorted(allowed))}")
    return lines


def main(packages: Sequence[str] = PACKAGES, known: Sequence[Knot] = KNOWN) -> int:
    """0 without a circle, else 1 and what to look at on stderr."""
    graph = grimp.build_graph(*packages, cache_dir=None)
    lines = problems(graph, known)
    for line in lines:
        print(line, file=sys.stderr)
    if not lines:
        beyond = f" but {len(known)} known knots" if known else ""
        print(f"no circle{beyond} among {len(graph.modules)} modules of {' and '.join(packages)}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
