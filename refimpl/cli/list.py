"""`refimpl list`: the cases there are."""

from __future__ import annotations

import json
from typing import Any

import click

from refimpl.cli.errors import Usage


@click.command(epilog="\b\nExamples:\n  refimpl list csi\n  refimpl list --json | jq .id")
@click.argument("iface", metavar="[IFACE]", default="all")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a case.")
def command(iface: str, as_json: bool) -> None:
    """List the cases: id, level, title, source, what a target has to offer."""
    from conformance.engine import cases
    from conformance.engine.options import BadOption

    try:
        entries = cases.all_cases(iface)
    except BadOption as error:
        raise Usage(str(error)) from error
    for entry in entries:
        click.echo(json.dumps(cases.record(entry)) if as_json else _line(cases.record(entry)))


def _line(record: dict[str, Any]) -> str:
    return f"{record['id']:14} {record['level']:6}  {record['title']}"
