"""`refimpl report`: reports from the event stream of a run, at any later time."""

from __future__ import annotations

import click

from refimpl import files
from refimpl.cli.errors import Usage
from refimpl.cli.streams import load

EPILOG = """\b
Examples:
  refimpl report out/events.jsonl                       what the run has printed
  refimpl report out/events.jsonl --html report.html    one self-contained page
  refimpl report out/events.jsonl --markdown - >> "$GITHUB_STEP_SUMMARY"
"""


@click.command(epilog=EPILOG)
@click.argument("events")
@click.option("--html", metavar="FILE", help="One self-contained HTML page.")
@click.option("--junit", metavar="FILE", help="JUnit XML.")
@click.option("--markdown", metavar="FILE", help="Markdown for the summary of a CI job.")
@click.option("--badge", metavar="FILE", help="JSON for a shields.io endpoint badge.")
@click.option("-v", "--verbose", count=True, help="With no file asked for: more of the summary.")
def command(events: str, verbose: int, **files: str | None) -> None:
    """Make reports from EVENTS, the events.jsonl of a run; - reads stdin, or writes to stdout.

    With no file asked for, print the summary that ended the run. The run may have been killed:
    its reports say so.
    """
    stream = load(events)
    from conformance.engine import reports

    outputs = {kind: name for kind, name in files.items() if name}
    for kind, name in outputs.items():
        _write(name, getattr(reports, kind)(stream), f"--{kind}")
    if not outputs:
        from conformance.engine.judging.terminal import make_console
        from conformance.engine.reports import console, digest

        console.summary(digest.Digest.of(stream), make_console(), verbose=verbose)


def _write(name: str, text: str, option: str) -> None:
    if name == "-":
        click.echo(text, nl=False)
        return
    try:
        files.replace(name, text.encode())
    except OSError as error:
        raise Usage(
            f"{option} {name}: {error.strerror}; name a file in a directory you can write to"
        ) from error
