"""`refimpl cni`: network configurations without a runtime."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from refimpl.cli import cni_plugins
from refimpl.cli.errors import Usage

# what is painted -> how click.style writes it
STYLES: dict[str, dict[str, str | bool]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow"},
    "info": {"fg": "blue"},
    "file": {"bold": True},
    "faint": {"dim": True},
}

LINT_EPILOG = """\b
Examples:
  refimpl cni lint /etc/cni/net.d
  refimpl cni lint 10-net.conflist --json
  refimpl cni lint /etc/cni/net.d --cni-path /opt/cni/bin

\b
Exit codes: 0 no errors (warnings may be there), 1 errors, 4 usage.
"""


EPILOG = """\b
Examples:
  refimpl cni lint /etc/cni/net.d
  refimpl cni install /opt/cni/bin --journal calls.jsonl
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Check network configurations; install fake plugins."""


for subcommand in (cni_plugins.install, cni_plugins.journal, cni_plugins.knobs):
    command.add_command(subcommand)


@command.command(epilog=LINT_EPILOG)
@click.argument("paths", metavar="FILE|DIR...", nargs=-1, required=True)
@click.option(
    "--cni-path",
    metavar="DIRS",
    default="",
    help="Directories of plugins, separated as in CNI_PATH: look for each plugin there and ask "
    "it for its versions (runs it with CNI_COMMAND=VERSION).",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def lint(paths: tuple[str, ...], cni_path: str, as_json: bool) -> None:
    """Say what is wrong with network configurations, and which of a directory's files each
    runtime would use.
    """
    from refimpl.cni.lint import lint as check
    from refimpl.cni.lint import terminal
    from refimpl.cni.lint.ask import versions_of

    folders = _folders(cni_path)
    for path in paths:
        if not os.path.lexists(path):
            raise Usage(f"{path}: no such file or directory; name a configuration or its directory")
    report = check(map(Path, paths), cni_path=folders, versions_of=versions_of)
    if as_json:
        click.echo(json.dumps(report.to_dict(), indent=2))
    else:
        colours = False if os.environ.get("NO_COLOR") else None
        for line in terminal.lines(report, _paint):
            click.echo(line, color=colours)
    raise click.exceptions.Exit(1 if report.failed else 0)


def _folders(cni_path: str) -> list[Path]:
    """The directories of --cni-path."""
    folders = [Path(part) for part in cni_path.split(os.pathsep) if part]
    for folder in folders:
        if not folder.is_dir():
            raise Usage(f"--cni-path: {folder} is no directory; name directories of plugins")
    return folders


def _paint(text: str, style: str) -> str:
    """The text in the colours of what it is; click leaves them out where no terminal reads."""
    return click.style(text, **STYLES[style])  # type: ignore[arg-type]
