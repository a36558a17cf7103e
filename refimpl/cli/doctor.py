"""`refimpl doctor`: what this machine can test, and what to install."""

from __future__ import annotations

import textwrap

import click


@click.command()
def command() -> None:
    """Say what this machine can test, and what to install for more. Exit code 1 when something
    is missing without which nothing works.
    """
    from conformance.engine import doctor

    broken = False
    for check in doctor.examine():
        broken = broken or (check.needed and not check.good)
        mark = "ok" if check.good else "MISSING" if check.needed else "no"
        click.echo(f"{mark:8} {check.name:13} {check.found}")
        if not check.good:
            for text in (f"without it: {check.allows}", f"to do: {check.advice}"):
                click.echo(
                    textwrap.fill(text, 78, initial_indent=" " * 9, subsequent_indent=" " * 11)
                )
    raise click.exceptions.Exit(1 if broken else 0)
