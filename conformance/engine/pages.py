"""`python -m conformance.engine.pages`: the pages of docs/catalogue, made from the cases.

`--check` changes nothing and fails when a page is not what the cases say.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from conformance.engine import cases, catalogue
from conformance.engine.interfaces import INTERFACES, interface_of


def page(interface: str) -> str:
    """The catalogue of one interface: a table a section, then what has no case yet."""
    entries = cases.all_cases(interface)
    title = INTERFACES[interface].title
    lines = [
        f"# Cases: {title}",
        "",
        f"{len(entries)} cases. `refimpl explain ID` tells the rest.",
        "",
    ]
    records = [cases.record(entry) for entry in entries]
    records.sort(key=lambda record: (record["section"], record["id"]))
    for section, members in groupby(records, key=lambda record: record["section"]):
        lines += [
            f"## {section}",
            "",
            "| id | level | rule | source | needs |",
            "|---|---|---|---|---|",
        ]
        for record in members:
            needs = ", ".join(record["needs"])
            cells = [record["id"], record["level"], record["title"], record["source"], needs]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    waiting = {
        id: reason for id, reason in catalogue.deferred().items() if interface_of(id) == interface
    }
    if waiting:
        lines += ["## No case yet", "", "| id | reason |", "|---|---|"]
        lines += [f"| {id} | {reason} |" for id, reason in sorted(waiting.items())] + [""]
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    """Writes the pages into the checkout this runs in, or compares them."""
    check = "--check" in (sys.argv[1:] if words is None else words)
    folder = Path.cwd() / "docs" / "catalogue"
    stale = []
    for interface in INTERFACES:
        path, text = folder / f"{interface}.md", page(interface)
        if path.is_file() and path.read_text() == text:
            continue
        stale.append(path.name)
        if not check:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if check and stale:
        print(f"stale: {', '.join(stale)}; run: python -m conformance.engine.pages")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
