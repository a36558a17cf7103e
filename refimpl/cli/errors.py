"""How a command ends when it cannot begin: one sentence on stderr and an exit code of its own."""

from __future__ import annotations

import click


class Usage(click.UsageError):
    """An option, a file or an address the command cannot work with."""

    exit_code = 4


class TargetUnreachable(click.ClickException):
    """Nobody answers where the target should be."""

    exit_code = 6
