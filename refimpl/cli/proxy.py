"""`refimpl proxy`: faults and a journal in front of a server that knows nothing of them."""

from __future__ import annotations

import importlib.util
import pkgutil
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from refimpl.cli.errors import TargetUnreachable, Usage
from refimpl.cli.foreground import (
    interruption,
    loaded_faults,
    opened_journal,
    refusals,
    shared_options,
)

if TYPE_CHECKING:
    from refimpl.wire.endpoint import Endpoint
    from refimpl.wire.faults import Faults

EPILOG = """\b
Examples:
  refimpl proxy /tmp/csi.sock unix:///run/driver/csi.sock --journal calls.jsonl
  refimpl proxy /tmp/csi.sock /run/driver/csi.sock --faults lose-replies.yaml
  refimpl proxy tcp://127.0.0.1:7000 dns:///driver:7000 --control /tmp/ctl.sock
"""


@click.command(epilog=EPILOG)
@click.argument("listen")
@click.argument("upstream")
@click.option(
    "--wait",
    "wait_s",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    help="How long UPSTREAM may take to answer at the start.",
)
@shared_options
def command(
    listen: str,
    upstream: str,
    wait_s: float,
    faults_file: str | None,
    journal_file: str | None,
    control: str | None,
    allow_remote: bool,
) -> None:
    """Pass every gRPC call at LISTEN on to UPSTREAM, until SIGINT or SIGTERM.

    Any gRPC server will do; where the method is one of ours, rules may look into requests and
    change replies. Prints one line, "ready ENDPOINT", when it listens. Exit code 6: nobody
    answers at UPSTREAM.
    """
    from refimpl.wire.control import Control
    from refimpl.wire.endpoint import Endpoint
    from refimpl.wire.proxy import Proxy

    _load_schemas()
    with ExitStack() as stack, refusals(ValueError):
        listening, server = Endpoint.parse(listen), Endpoint.parse(upstream)
        journal = opened_journal(journal_file)
        stack.callback(journal.close)
        faults = loaded_faults(faults_file, journal)
        _refuse_crashes(faults)
        _reach(server, wait_s)
        proxy = Proxy(server, journal=journal, faults=faults, allow_remote=allow_remote)
        wait = stack.enter_context(interruption())
        stack.callback(proxy.stop)
        endpoint = proxy.start(listening)
        if control is not None:
            stack.enter_context(Control(control, journal=journal, faults=faults))
        click.echo(f"ready {endpoint}")
        wait()


def _load_schemas() -> None:
    """Imports every generated module, so that the proxy can decode what it knows."""
    import refimpl

    packages = [module.name for module in pkgutil.iter_modules(refimpl.__path__) if module.ispkg]
    for path in (f"refimpl.{package}.api" for package in packages):
        if importlib.util.find_spec(path) is not None:
            for module in pkgutil.iter_modules(importlib.import_module(path).__path__):
                if module.name.endswith("_pb2"):
                    importlib.import_module(f"{path}.{module.name}")


def _reach(upstream: Endpoint, wait_s: float) -> None:
    from refimpl.wire.client import Channel, Unreachable

    try:
        with Channel(upstream) as channel:
            channel.wait_ready(wait_s)
    except Unreachable as error:
        raise TargetUnreachable(str(error)) from error


def _refuse_crashes(faults: Faults) -> None:
    from refimpl.wire.faults import Crash

    for rule in faults.rules:
        if isinstance(rule.do, Crash):
            raise Usage(f"{rule.title}: do.crash: a proxy has no crash points; they are in a fake")
