"""The words of a command line that are somebody else's: a command to start, options of pytest."""

from __future__ import annotations

import click

__all__ = ["CommandAfterDashes", "side", "split"]


class CommandAfterDashes(click.Command):
    """Takes other people's words away before click reads ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """What follows `--` is the command to start, what follows `--pytest` is for pytest."""
        words, ctx.meta["command"], ctx.meta["pytest"] = split(args)
        ctx.meta["side"], words = side(words)
        return super().parse_args(ctx, words)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line with the command that click does not know of."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND ...]"]


def side(words: list[str]) -> tuple[str, list[str]]:
    """`client` where that word stands before the interface, and the words without it."""
    if "client" not in words[:-1]:
        return "", words
    index = words.index("client")
    return "client", words[:index] + words[index + 1 :]


def split(words: list[str]) -> tuple[list[str], tuple[str, ...], tuple[str, ...]]:
    """Our own words, the command after `--`, and what goes to pytest; the first mark wins.

    csi-sanity is written in Go, where `-csi.secrets` has one dash: both spellings are taken.
    """
    marks = [words.index(mark) for mark in ("--", "--pytest") if mark in words]
    end = min(marks, default=len(words))
    own_words = [f"-{word}" if word.startswith("-csi.") else word for word in words[:end]]
    others = tuple(words[end + 1 :])
    return (own_words, others, ()) if words[end : end + 1] == ["--"] else (own_words, (), others)
