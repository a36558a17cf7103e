"""`refimpl replay`: shows a finding of a run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from refimpl.cli.errors import TargetUnreachable, Usage
from refimpl.cli.interface_options import given_options, interface_options
from refimpl.cli.streams import load
from refimpl.cli.words import CommandAfterDashes

if TYPE_CHECKING:
    from conformance.engine.events import CaseDone
    from conformance.engine.options import Options
    from conformance.engine.replay.again import Again
    from conformance.engine.reports.console import Printer

EPILOG = """\b
Examples:
  refimpl replay out/events.jsonl CSI-CTRL-014
  refimpl replay out/events.jsonl CSI-CTRL-014 unix:///run/csi/csi.sock
  refimpl replay out/events.jsonl CSI-CTRL-014 -- ./driver --endpoint {endpoint}
  refimpl replay out/events.jsonl CNI-PLG-051 exec:/opt/cni/bin/bridge
  refimpl replay out/events.jsonl CSI-CTRL-014 --script > again.py
  python again.py unix:///run/csi/csi.sock

\b
Exit codes: 0 it does not show any more, 1 it shows again, or something else is
wrong with the same case; 2 interrupted, 3 internal error, 4 usage, 5 the case
cannot be judged on this target, 6 target unreachable.
"""
_SHOWN, _NOT_SHOWN, _NOT_JUDGED = 1, 0, 5


@click.command(cls=CommandAfterDashes, epilog=EPILOG)
@click.argument("events", metavar="EVENTS")
@click.argument("id", metavar="CASE")
@click.argument("target", metavar="[TARGET]", default="", required=False)
@click.option("--whole", is_flag=True, help="Play the cases before it as well, in their order.")
@click.option(
    "--times",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Try so often, for what depends on the moment.  [1]",
)
@click.option("--script", "as_script", is_flag=True, help="Print its calls as a script instead.")
@click.option("-v", "--verbose", count=True, help="Calls and the reason for the rule, whole.")
@interface_options
@click.pass_context
def command(ctx: click.Context, /, events: str, id: str, target: str, **arguments: Any) -> None:
    """Show the finding of CASE in the event stream EVENTS again.

    Its case alone is judged, with the seed and the settings of that run, on a fresh target: the one
    of the run (a command is started anew), or TARGET. The calls are those on record; names, paths
    and namespaces are new ones. With --script those calls become a program that needs nothing of
    this one: Python with grpcio, or Python and util-linux for CNI plugins.
    """
    from conformance.engine.options import BadOption
    from conformance.engine.replay.again import look_again
    from conformance.engine.replay.recorded import Recorded
    from conformance.engine.replay.script import script
    from refimpl.wire import polling
    from refimpl.wire.client import Unreachable

    polling.poll_in_the_caller()
    polling.leave_forks_alone()
    polling.say_errors_only()
    stream = load(events)
    try:
        recorded = Recorded.find(stream, id.upper(), events)
        options = recorded.options(
            target=target,
            command=ctx.meta["command"],
            settings=given_options(arguments),
            whole=arguments["whole"] or recorded.looks_back,
        )
        if arguments["as_script"]:
            click.echo(script(recorded, options), nl=False)
            return
        again = look_again(recorded, options, arguments["times"])
    except BadOption as error:
        raise Usage(str(error)) from error
    except Unreachable as error:
        raise TargetUnreachable(str(error)) from error
    ctx.exit(_tell(again, options, arguments["times"], arguments["verbose"]))


def _tell(again: Again, options: Options, times: int, verbose: int) -> int:
    """Prints what came of it; the exit code."""
    from conformance.engine.judging.terminal import make_console
    from conformance.engine.reports.console import Printer

    out, id = Printer(make_console()), again.recorded.done.id
    if again.done is None:
        out.line((f"{id} was not judged on {options.shown_target}", "bold yellow"))
        return again.exit_code or _NOT_JUDGED
    _show(out, again, again.done, options, verbose)
    sentence, style, code = _VERDICTS[again.sight]
    reason = f": {again.done.message}" if again.sight == "skipped" else ""
    tried = f" at try {again.tries} of {times}" if times > 1 else ""
    out.line((f"{id} {sentence}{reason}{tried}.", style))
    if again.sight == "passes" and len(options.only) == 1:
        out.line(("It was judged alone: --whole plays what came before it as well.", ""))
    return code


_VERDICTS = {
    "again": ("shows again", "bold red", _SHOWN),
    "otherwise": ("fails again, by another rule than in the run", "bold red", _SHOWN),
    "passes": ("does not show again: the case passes there", "bold green", _NOT_SHOWN),
    "skipped": ("cannot be judged there", "bold yellow", _NOT_JUDGED),
}


def _show(out: Printer, again: Again, done: CaseDone, options: Options, verbose: int) -> None:
    """The case as it ended now, on which target, and by how many of the calls on record."""
    from conformance.engine.reports.console import block

    block(out, done, verbose)
    out.labelled("target", f"{again.target}, seed {options.seed}")
    out.labelled("played", _played(again, done, len(options.only) - 1))
    then = again.recorded.done.got
    out.labelled("got then", then if done.got != then else "")


def _played(again: Again, done: CaseDone, before: int) -> str:
    """`2 of 2 calls on record, in their order`. before: how many cases came before."""
    from conformance.engine.reports.text import count

    after = f", after {count(before, 'case')} that came before it" if before else ""
    if done.outcome == "pass":
        return f"the case, to its end{after}"
    calls = len(again.recorded.done.calls)
    return f"{again.played} of {calls} calls on record, in their order{after}"
