"""`refimpl sweep`: removes what a killed run left on a target."""

from __future__ import annotations

from typing import Any

import click

from refimpl.cli.errors import TargetUnreachable, Usage
from refimpl.cli.interface_options import given_options, interface_options

EPILOG = """\b
Examples:
  refimpl sweep csi unix:///run/csi/csi.sock
  refimpl sweep cni unix:///run/containerd/containerd.sock --dry-run
  refimpl sweep cdi /run/containerd/containerd.sock
"""


@click.command(epilog=EPILOG)
@click.argument("iface", metavar="IFACE")
@click.argument("target", metavar="TARGET")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@interface_options
def command(iface: str, target: str, dry_run: bool, **arguments: Any) -> None:
    """Remove what killed runs have left on TARGET, named as it was for `refimpl test`.

    Every run writes down what it makes before it makes it. Only that is removed, nothing else on
    the target is touched.
    """
    from conformance.engine.ledger import sweep
    from conformance.engine.options import BadOption, Options
    from refimpl.wire.client import Unreachable

    try:
        options = Options(
            interface=iface, target=target, settings=given_options(arguments), run_id="sweep"
        )
        lines, failed = sweep.sweep(options, dry_run=dry_run)
    except BadOption as error:
        raise Usage(str(error)) from error
    except Unreachable as error:
        raise TargetUnreachable(str(error)) from error
    for line in lines:
        click.echo(line)
    if failed:
        raise click.exceptions.Exit(1)
