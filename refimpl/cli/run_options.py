"""What every run of the suite can be told: which cases, how strictly, with how many workers."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from refimpl.cli.interface_options import given_options, interface_options

if TYPE_CHECKING:
    from conformance.engine.options import Options

__all__ = ["chosen", "given_words", "run_options"]

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--revision", default="", metavar="NAME", help="Revision profile, e.g. csi-1.12."),
    click.option(
        "--level",
        default="may",
        type=click.Choice(["must", "should", "may"]),
        help="Judge requirements of this level and stricter.",
    ),
    click.option("--only", multiple=True, metavar="ID", help="Only these ids (globs)."),
    click.option("--skip", multiple=True, metavar="ID", help="Leave these ids out (globs)."),
    click.option("--focus", default="", metavar="REGEX", help="Only ids and titles that match."),
    click.option(
        "--skip-re", default="", metavar="REGEX", help="Leave out ids and titles that match."
    ),
    click.option("--heavy", is_flag=True, help="Also cases that make thousands of objects."),
    click.option(
        "-n",
        "workers",
        metavar="WORKERS",
        help="Worker processes, or auto.  [0; for all, cri and deviceplugin on our fakes 4, where"
        " there are two processors]",
    ),
    click.option("-x", "first", is_flag=True, help="Stop at the first failure."),
    click.option("--strict", is_flag=True, help="A failed SHOULD or MAY fails the run."),
    click.option("--expect", multiple=True, metavar="FILE", help="Known failures (TOML), strict."),
    click.option("--seed", type=int, default=None, help="Repeat the random choices of a run."),
)
_PLAIN = (
    "revision",
    "level",
    "only",
    "skip",
    "focus",
    "skip_re",
    "heavy",
    "strict",
    "expect",
    "report_dir",
    "verbose",
    "quiet",
)


def run_options(function: F) -> F:
    """Adds them, those of the interfaces last; `chosen` makes one value of what was given."""
    function = interface_options(function)
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def chosen(
    ctx: click.Context, interface: str, target: str, arguments: Mapping[str, Any], **more: Any
) -> Options:
    """The options of a run of that interface on that target; `more` are fields of Options."""
    from conformance.engine.options import Options

    seed = arguments["seed"]
    fields: dict[str, Any] = {key: arguments[key] for key in _PLAIN}
    fields |= {
        "interface": interface,
        "side": ctx.meta["side"],
        "target": target,
        "command": ctx.meta["command"],
        "seed": seed if seed is not None else random.randrange(2**32),
        "drawn": True,
        "settings": given_options(arguments),
    }
    return Options(**(fields | more))


def given_words(ctx: click.Context, but: Collection[str] = ()) -> list[str]:
    """The options of a command line as they were given, to be handed to another command. but: the
    parameters that are not handed on."""
    given = [
        (option, ctx.params[option.name])
        for option in ctx.command.params
        if isinstance(option, click.Option) and option.name and option.name not in but
        if ctx.get_parameter_source(option.name) is click.core.ParameterSource.COMMANDLINE
    ]
    return [word for option, value in given for word in _words(option, value)]


def _words(option: click.Option, value: Any) -> list[str]:
    flag = option.opts[-1]
    if option.is_flag or option.count:
        return [flag] * int(value)
    values = value if option.multiple else [value]
    return [word for each in values for word in (flag, str(each))]
