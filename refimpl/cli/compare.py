"""`refimpl compare`: runs side by side, one row a case whose outcome differs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from refimpl.cli.errors import Usage
from refimpl.cli.streams import load

if TYPE_CHECKING:
    from conformance.engine.reports.sidebyside import Comparison, Row

__all__ = ["command", "print_legend", "print_rows"]

EPILOG = """\b
Example:
  refimpl compare containerd/events.jsonl crio/events.jsonl
"""


@click.command(epilog=EPILOG)
@click.argument("events", nargs=-1, required=True, metavar="A.jsonl B.jsonl...")
def command(events: tuple[str, ...]) -> None:
    """Show runs side by side: one row a case whose outcome differs.

    Cases that did not run everywhere (`-`) are counted at the end; they make no row by themselves.
    `refimpl matrix` judges several targets and shows them like this.
    """
    comparison = _comparison(events)
    print_legend(comparison)
    click.echo("")
    if comparison.differing:
        print_rows(comparison, comparison.differing)
        click.echo("")
    for line in comparison.conclusion():
        click.echo(line)


def print_legend(comparison: Comparison) -> None:
    """Who is who, and the verdict on each."""
    width = shutil.get_terminal_size().columns
    for column in comparison.columns:
        click.echo("\n".join(column.legend(width)))


def print_rows(comparison: Comparison, rows: Sequence[Row]) -> None:
    """The rows as wide as the terminal, with what its marks mean where it has marks."""
    width = shutil.get_terminal_size().columns
    for line in comparison.table(rows, width):
        click.echo(line)
    if key := comparison.key(rows, width):
        click.echo(key)


def _comparison(names: Sequence[str]) -> Comparison:
    from conformance.engine.reports.digest import Digest
    from conformance.engine.reports.sidebyside import LETTERS, Comparison

    if not 2 <= len(names) <= len(LETTERS):
        raise Usage(f"{len(names)} stream given; name the events.jsonl of two to 26 runs")
    comparison = Comparison.of([(name, Digest.of(load(name))) for name in names])
    if comparison.strangers:
        kinds = ", ".join(
            f"{column.letter} is {column.digest.run.interface}" for column in comparison.columns
        )
        raise Usage(f"the runs have no case in common ({kinds}); compare runs of one interface")
    return comparison
