"""The command group. It imports nothing but click, so that `refimpl --help` answers at once."""

from __future__ import annotations

import importlib
import sys

import click

from refimpl import __version__
from refimpl.cli import output

_INTERNAL = 3

# name -> what `refimpl --help` says of it; the module is refimpl.cli.<name>.
COMMANDS = {
    "test": "Judge a driver, plugin or runtime, or our own fakes.",
    "serve": "Run a fake until it is interrupted.",
    "run": "Play the calling side against a target, and print each step.",
    "proxy": "Put faults and a journal in front of a real server.",
    "list": "List the cases.",
    "explain": "Say what a case asks, why, and where that is written.",
    "replay": "Show a finding of a run again, or write its calls as a script.",
    "report": "Make reports from the event stream of a run.",
    "matrix": "Judge several targets, and show on one page how they differ.",
    "compare": "Show runs side by side, one row a case that differs.",
    "cdi": "Judge, list, resolve and inject devices of CDI files.",
    "cni": "Check network configurations, and what each runtime makes of them.",
    "dra": "Judge objects and expressions for devices, and explain allocations.",
    "images": "List and export the container images that we make.",
    "sweep": "Remove what a killed run left on a target.",
    "doctor": "Say what this machine can test, and what to install.",
}

EPILOG = """\b
Examples:
  refimpl test all                                  everything against our fakes
  refimpl test csi unix:///run/csi/csi.sock         a driver that is running
  refimpl test csi -- ./driver --endpoint {endpoint}   a driver we start ourselves
  refimpl serve csi unix:///tmp/csi.sock            a fake driver for your client
  refimpl explain CSI-LV-006                        what a case asks and why
"""


class SubcommandGroup(click.Group):
    """Finds a subcommand's module by its name and imports it only then."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The subcommands in the order a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The click command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        subcommand = importlib.import_module(f"refimpl.cli.{cmd_name}").command
        assert isinstance(subcommand, click.Command)
        return subcommand

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; a word that is no text could go into no request and no report."""
        for word in args:
            try:
                word.encode()
            except UnicodeEncodeError:
                raise _unreadable(word, ctx) from None
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but an unknown command is a usage error of ours (exit code 4)."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            error.exit_code = 4  # type: ignore[misc]
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _unreadable(word: str, ctx: click.Context) -> click.UsageError:
    shown = word.encode(errors="backslashreplace").decode()
    error = click.UsageError(f"'{shown}' is no text in UTF-8; write it, or name the file, so", ctx)
    error.exit_code = 4  # type: ignore[misc]
    return error


@click.group(
    cls=SubcommandGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="refimpl")
def command() -> None:
    """Fakes and conformance tests for the node interfaces of Kubernetes."""


def main() -> None:
    """The console script. Exit codes: 0 conformant, 1 not, 2 interrupted, 3 internal error,
    4 usage, 5 nothing selected, 6 target unreachable.
    """
    outlet = output.guard()
    status = _status()
    sys.stdout.flush()
    if outlet.complaint:
        click.echo(f"refimpl: {outlet.complaint}", err=True)
        status = status or _INTERNAL
    sys.exit(status)


def _status() -> int:
    try:
        return command.main(prog_name="refimpl", standalone_mode=False) or 0
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 2
    except click.UsageError as error:
        error.show()
        return 4
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Exception:
        # Python's own 1 would say that a target is not conformant.
        import traceback

        traceback.print_exc()
        return _INTERNAL
