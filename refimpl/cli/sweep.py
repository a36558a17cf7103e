"""`refimpl sweep`: removes what a killed run left on a target."""

from __future__ import annotations

from typing import Any

import click

from refimpl.cli.errors import TargetUnreachable, Usage
from refimpl.cli.interface_options import given_options, interface_options
from refimpl.cli.words import CommandAfterDashes

EPILOG = """\b
Examples:
  refimpl sweep                              what is on this machine, of all killed runs
  refimpl sweep csi unix:///run/csi/csi.sock
  refimpl sweep csi -- ./driver --endpoint {endpoint}
  refimpl sweep cni unix:///run/containerd/containerd.sock --dry-run
  refimpl sweep cdi /run/containerd/containerd.sock
"""


@click.command(cls=CommandAfterDashes, epilog=EPILOG)
@click.argument("iface", metavar="[IFACE]", default="")
@click.argument("target", metavar="[TARGET]", default="")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@interface_options
@click.pass_context
def command(
    ctx: click.Context, /, iface: str, target: str, dry_run: bool, **arguments: Any
) -> None:
    """Remove what killed runs have left: processes, mounts and folders on this machine, and what
    they made on TARGET, named as it was for `refimpl test`.

    Every run writes down what it makes before it makes it. Only that is removed, nothing else is
    touched. Without TARGET, what only a target can remove is left, and told.
    """
    from conformance.engine.ledger import sweep
    from conformance.engine.options import BadOption, Options
    from refimpl.wire.client import Unreachable

    try:
        options = Options(
            interface=iface,
            side=ctx.meta["side"],
            target=target,
            command=ctx.meta["command"],
            settings=given_options(arguments),
            run_id="sweep",
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
