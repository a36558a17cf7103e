"""`refimpl explain`: what a case asks, why, and where that is written."""

from __future__ import annotations

import click

from refimpl.cli.errors import Usage


@click.command(epilog="\b\nExample:\n  refimpl explain CSI-CTRL-019")
@click.argument("id", metavar="ID")
def command(id: str) -> None:
    """Say what the case ID asks for, why it matters, and which targets are known to differ."""
    from conformance.engine import cases
    from conformance.engine.options import BadOption

    try:
        click.echo(cases.explanation(id.upper()))
    except BadOption as error:
        raise Usage(str(error)) from error
