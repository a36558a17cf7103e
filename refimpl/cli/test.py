"""`refimpl test`: judges a target case by case."""

from __future__ import annotations

import os
from typing import Any

import click

from refimpl.cli.errors import TargetUnreachable, Usage
from refimpl.cli.run_options import chosen, run_options
from refimpl.cli.words import CommandAfterDashes

EPILOG = """\b
TARGET is one of
  fake                  our own fake (the default)
  unix:///run/x.sock    a socket, also as a bare path
  tcp://127.0.0.1:9000  where the interface allows TCP
  exec:/opt/cni/bin/x   a CNI plugin, or the cdi tool
  dir:/etc/cni/net.d    CNI configurations; file:x.conflist for one alone
  my-driver.toml        a target file with all of it
  -- COMMAND ...        a command that we start, stop and restart;
                        {endpoint}, {node}, {dir} (a fresh folder of its own),
                        {kubelet}, {device-plugins}, {registry}, {cdi}, {runtime},
                        {config} and {kubeconfig} are filled in, where the
                        interface has them

\b
Examples:
  refimpl test all
  refimpl test csi unix:///run/csi/csi.sock --report-dir out
  refimpl test csi /run/csi/csi.sock --revision csi-1.12 --level must
  refimpl test csi --only 'CSI-NPUB-*' -x -- ./driver --endpoint {endpoint}
  refimpl test csi /run/csi.sock --csi.secrets secrets.yaml --expect known.toml
  refimpl test cni exec:/opt/cni/bin/bridge --config net.conflist
  refimpl test cni dir:/etc/cni/net.d --cni-path /opt/cni/bin
  refimpl test cdi -- ./adapter-of-a-library
  refimpl test deviceplugin -- ./my-plugin --plugin-directory {device-plugins}
  refimpl test client deviceplugin kubelet
  refimpl test cdi /run/containerd/containerd.sock --cdi-dir /etc/cdi --cdi-image busybox

\b
Exit codes: 0 conformant, 1 not conformant, 2 interrupted, 3 internal error,
4 usage, 5 nothing selected, 6 target unreachable.
"""


@click.command(cls=CommandAfterDashes, epilog=EPILOG)
@click.argument("iface", metavar="IFACE")
@click.argument("target", default="fake")
@run_options
@click.option(
    "--report-dir",
    default=lambda: os.environ.get("ARTIFACTS", ""),
    metavar="DIR",
    help="Write events.jsonl, JUnit, HTML, Markdown and a badge here.  [$ARTIFACTS]",
)
@click.option("--json", "as_json", is_flag=True, help="The events as JSON lines on stdout.")
@click.option("-v", "--verbose", count=True, help="A line a case; whole warnings.")
@click.option("-q", "--quiet", is_flag=True, help="Only the verdict.")
@click.pass_context
def command(ctx: click.Context, /, iface: str, target: str, **arguments: Any) -> None:
    """Judge a target, one case a requirement.

    IFACE is csi, cri, cni, cdi, deviceplugin, or all (every interface against our fakes); with the
    word client before it, what calls the interface is judged. Words after --pytest go to pytest
    unread.
    """
    from refimpl.wire import polling

    polling.poll_in_the_caller()
    polling.leave_forks_alone()
    polling.say_errors_only()
    from conformance.engine import run

    options = chosen(ctx, iface, target, arguments, json=arguments["as_json"])
    try:
        status = run.run(
            options,
            workers=arguments["workers"] or run.usual_workers(options),
            first=arguments["first"],
            extra=ctx.meta["pytest"],
        )
    except run.BadOption as error:
        raise Usage(str(error)) from error
    except run.Unreachable as error:
        raise TargetUnreachable(str(error)) from error
    ctx.exit(status)
