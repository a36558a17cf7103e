"""`refimpl serve`: a fake of one interface, until it is interrupted."""

from __future__ import annotations

import importlib
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from refimpl.cli.errors import Usage
from refimpl.cli.foreground import (
    interruption,
    loaded_faults,
    opened_journal,
    refusals,
    shared_options,
)

if TYPE_CHECKING:
    from refimpl.wire.fake import Fake

FAKES = {"csi": "refimpl.csi.fake:FakeDriver"}
"""Interface to the class of its fake."""

REFUSALS = {"csi": "refimpl.csi.persist:StateError"}
"""Interface to what its fake raises, besides ValueError, where the user asked for too much."""

EPILOG = """\b
Examples:
  refimpl serve csi unix:///tmp/csi.sock
  refimpl serve csi /tmp/csi.sock --profile topology --nodes 3
  refimpl serve csi /tmp/controller.sock --split     node at controller-0.sock
  refimpl serve csi /tmp/csi.sock --without EXPAND_VOLUME --set attach_limit=2
  refimpl serve csi /tmp/csi.sock --faults faults.yaml --journal calls.jsonl
  refimpl serve csi /tmp/csi.sock --control /tmp/ctl.sock
  curl --unix-socket /tmp/ctl.sock http://refimpl/journal
"""


@click.command(epilog=EPILOG)
@click.argument("interface", metavar="IFACE", type=click.Choice(list(FAKES)))
@click.argument("endpoint")
@click.option("--profile", help="Named set of choices.  [default: default]")
@click.option("--revision", help="Revision of the interface, such as 1.12.  [default: newest]")
@click.option("--nodes", type=click.IntRange(min=1), help="How many nodes.  [default: 1]")
@click.option("--split", is_flag=True, help="The first node at a socket of its own, too.")
@click.option("--state-dir", metavar="DIR", help="Remember over a restart.  [default: forget]")
@click.option(
    "--without", metavar="CAP", multiple=True, help="Leave a capability out (repeatable)."
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Change one setting of the profile (repeatable).",
)
@shared_options
def command(
    interface: str,
    endpoint: str,
    faults_file: str | None,
    journal_file: str | None,
    settings: tuple[str, ...],
    **choices: Any,
) -> None:
    """Run the fake of IFACE (csi) at ENDPOINT until SIGINT or SIGTERM.

    Prints one line, "ready ENDPOINT", when it answers, and leaves no socket, process or mount
    behind. ENDPOINT is unix:///path, a socket's path, or tcp://127.0.0.1:port (0: any).
    """
    given = {name: value for name, value in choices.items() if value not in (None, (), False)}
    if settings:
        given["settings"] = dict(_setting(text) for text in settings)
    with interruption() as wait, ExitStack() as stack:
        journal = opened_journal(journal_file)
        stack.callback(journal.close)
        faults = loaded_faults(faults_file, journal)
        with refusals(ValueError, _attribute(REFUSALS[interface])):
            fake: Fake = _attribute(FAKES[interface])(
                endpoint, faults=faults, journal=journal, **given
            )
            stack.callback(fake.stop)
            fake.start()
        click.echo(f"ready {fake.endpoint}")
        wait()


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise Usage(f"--set {text}: write NAME=VALUE")
    return name, value


def _attribute(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
