"""`refimpl matrix`: several targets judged one after another, and how they differ on one page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refimpl import files
from refimpl.cli.compare import print_legend, print_rows
from refimpl.cli.errors import Usage
from refimpl.cli.run_options import chosen, given_words, run_options
from refimpl.cli.words import CommandAfterDashes

if TYPE_CHECKING:
    from conformance.engine.inturn import Turn
    from conformance.engine.reports.sidebyside import Comparison

EPILOG = """\b
Examples:
  refimpl matrix containerd.toml crio.toml --report-dir out
  refimpl matrix cri fake:strict fake:containerd fake:crio --report-dir out
  refimpl matrix csi one-driver.toml unix:///run/other/csi.sock --report-dir out
  refimpl matrix client deviceplugin fake:1.34 fake:1.35 fake:1.36 fake:1.37 \\
      --report-dir out

\b
out/ has matrix.html, and for each target a folder with the reports of
`refimpl test`. The terminal has the cases that differ, and those that all
targets fail; -v all of them.

\b
Exit codes, of all targets together: 0 each is conformant, 1 one is not (also
where another is out of reach), 2 interrupted, 3 internal error, 4 usage, 5
nothing selected, 6 a target is out of reach and no other fails.
"""
PAGE = "matrix.html"
_OURS = ("report_dir", "verbose", "quiet")


class _Command(CommandAfterDashes):
    """Takes the words for pytest, and the word client; commands stand in target files."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line without a command."""
        return click.Command.collect_usage_pieces(self, ctx)


@click.command(cls=_Command, epilog=EPILOG)
@click.argument("words", nargs=-1, required=True, metavar="[IFACE] TARGET TARGET...")
@run_options
@click.option(
    "--report-dir",
    default=lambda: os.environ.get("ARTIFACTS", ""),
    metavar="DIR",
    help="Write the page and the reports of each target here.  [$ARTIFACTS; required]",
)
@click.option("-v", "--verbose", count=True, help="Each run whole; every case in the end.")
@click.option("-q", "--quiet", is_flag=True, help="Only the page of all.")
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], **arguments: Any) -> None:
    """Judge targets one after another, and show them side by side: a row a case, a column a target.

    IFACE, with the word client before it where clients are judged, may be left out where each
    TARGET is a target file that says it, by its table or as `interface`. Options are those of
    `refimpl test` and hold for all; what holds for one target, or starts it, goes into its file.
    """
    from conformance.engine import inturn

    interface, targets = _targets(ctx.meta["side"], words)
    if ctx.meta["command"]:
        raise Usage("-- COMMAND: name a target file for each command, so that each has a column")
    folder = _folder(arguments["report_dir"])
    _check(ctx, interface, targets, arguments)
    side = [ctx.meta["side"]] if ctx.meta["side"] else []
    turns = inturn.named_turns(
        targets, ["test", *side, interface], given_words(ctx, but=_OURS), folder
    )
    pytest = ["--pytest", *ctx.meta["pytest"]] if ctx.meta["pytest"] else []
    loudness = ["-v"] * arguments["verbose"] or ["-q"]
    comparison, code = _play(turns, folder, [*loudness, *pytest], arguments["quiet"])
    _show(comparison, arguments["verbose"])
    click.echo(f"\npage: {folder / PAGE}")
    ctx.exit(code)


def _targets(side: str, words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The interface, and the targets; raises Usage."""
    from conformance.engine.interfaces import INTERFACES
    from conformance.engine.options import BadOption
    from conformance.engine.reports.sidebyside import LETTERS
    from conformance.engine.targets.targetfile import interface_named

    named, targets = (words[0], words[1:]) if words[0] in INTERFACES else ("", words)
    if not 2 <= len(targets) <= len(LETTERS):
        raise Usage(f"{len(targets)} target given; name two to {len(LETTERS)}")
    if named:
        return named, targets
    try:
        names = {target: interface_named(target, list(INTERFACES)) for target in targets}
    except BadOption as error:
        raise Usage(str(error)) from error
    silent = [target for target, name in names.items() if not name]
    if silent or len(set(names.values())) > 1:
        said = ", ".join(f"{target} is of {name or '?'}" for target, name in names.items())
        example = " ".join(["refimpl", "matrix", *([side] if side else []), "cri", *targets])
        raise Usage(f"name the one interface of all targets ({said}): {example}")
    return names[targets[0]], targets


def _folder(name: str) -> Path:
    if not name:
        raise Usage("--report-dir is missing: name a directory for the page and the reports")
    try:
        os.close(files.folder(name, strangers=True))
        os.close(files.create(Path(name) / PAGE))
    except OSError as error:
        raise Usage(
            f"--report-dir {name}: {error.strerror}; name a directory you can write to"
        ) from error
    return Path(name)


def _check(
    ctx: click.Context, interface: str, targets: Sequence[str], arguments: dict[str, Any]
) -> None:
    """Refuses what can be known to be wrong of the last target before the first is judged."""
    from conformance.engine import run

    for target in targets:
        try:
            run.prepare(chosen(ctx, interface, target, arguments, report_dir=""))
        except run.BadOption as error:
            raise Usage(str(error)) from error


def _play(
    turns: Sequence[Turn], folder: Path, more: Sequence[str], quiet: bool
) -> tuple[Comparison, int]:
    """All runs side by side, and the exit code. The page is there after each of them, so that a
    matrix that is killed has one, too."""
    from conformance.engine import inturn
    from conformance.engine.reports.matrix import matrix
    from conformance.engine.reports.sidebyside import LETTERS, Comparison

    player, codes, runs = inturn.InTurn(), [], []
    lines = {turn.name: turn.line for turn in turns}
    with player.interruptible():
        for letter, turn in zip(LETTERS, turns, strict=False):
            if not quiet:
                click.echo(f"{letter}  {turn.line}")
            codes.append(player.run(turn, more, quiet=quiet))
            runs.append((turn.name, turn.digest(codes[-1])))
            comparison = Comparison.of(runs)
            files.replace(folder / PAGE, matrix(comparison, lines).encode())
    return comparison, inturn.weightiest(codes)


def _show(comparison: Comparison, verbose: int) -> None:
    """Who is who, and the rows: those with something to tell, or all."""
    click.echo("")
    print_legend(comparison)
    for heading, rows in comparison.groups:
        if verbose or rows[0].differs or rows[0].remarkable:
            click.echo(f"\n{heading} ({len(rows)})")
            print_rows(comparison, rows)
    click.echo("")
    for line in comparison.conclusion():
        click.echo(line)
