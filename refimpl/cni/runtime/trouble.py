"""What can go wrong around a plugin; every error says which plugin, which verb, and what came."""

from __future__ import annotations

from pathlib import Path

from refimpl.cni.contract import CniError, ShapeError, read_error
from refimpl.cni.execute import Outcome
from refimpl.cni.execute.record import text

__all__ = [
    "BadAnswer",
    "DaemonDies",
    "NotAttached",
    "PluginFailed",
    "PluginMissing",
    "PluginUnusable",
    "Refusal",
    "Trouble",
]


class Trouble(Exception):
    """Whatever a runtime reports of a plugin or an attachment, other than an error object."""

    def __init__(self, plugin: str, verb: str, what: str) -> None:
        super().__init__(f"{plugin} {verb}: {what}" if plugin else f"{verb}: {what}")
        self.plugin, self.verb, self.what = plugin, verb, what


class PluginUnusable(Trouble):
    """A plugin that could not be started: nothing of it has run."""


class PluginMissing(PluginUnusable):
    """No regular file of that name in the plugin directories."""


class BadAnswer(Trouble):
    """A plugin ended, and what it left is neither a result nor an error object."""

    def __init__(self, plugin: str, verb: str, what: str, outcome: Outcome | None = None) -> None:
        came = f"; it ended with {outcome.brief()}" if outcome else ""
        super().__init__(plugin, verb, f"{what}{came}")
        self.outcome = outcome


class NotAttached(Trouble):
    """Nothing is kept of an attachment that the verb needs the result of."""


class Refusal(Trouble):
    """A call the runtime does not make, because the specification forbids it."""


class DaemonDies(Trouble):
    """Here the runtime of the profile ends: the kept files stay, no DEL follows."""


class PluginFailed(CniError):
    """The error object of a plugin, with plugin, verb and outcome. `code` is 0 where the runtime
    made the error up from other output, as libcni does."""

    def __init__(self, plugin: str, verb: str, error: CniError, outcome: Outcome) -> None:
        super().__init__(error.code, error.msg, error.details, error.cni_version)
        self.plugin, self.verb, self.outcome = plugin, verb, outcome

    def __str__(self) -> str:
        return f"{self.plugin} {self.verb}: {super().__str__()}"


def failed(plugin: str, verb: str, outcome: Outcome) -> PluginFailed | BadAnswer:
    """The error for an exec that did not end with 0: the plugin's own where it gave one."""
    name = Path(plugin).name
    if outcome.timed_out:
        return BadAnswer(name, verb, "no end within its deadline, so it was killed", outcome)
    try:
        error = read_error(outcome.document)
    except ShapeError as why:
        return BadAnswer(name, verb, f"it failed and stdout is {_short(why)}", outcome)
    return PluginFailed(name, verb, error, outcome)


def made_up(plugin: str, verb: str, outcome: Outcome) -> PluginFailed:
    """The error that libcni makes of a failed exec (CNI 1.3.1, pkg/invoke)."""
    ending = _go_ending(outcome)
    if outcome.stdout:
        try:
            error = read_error(outcome.document)
        except ShapeError:
            shown = text(outcome.stdout)
            error = CniError(0, f"failed, and its diagnostic message {shown!r} is no error object")
    elif outcome.stderr:
        error = CniError(0, f"failed: {text(outcome.stderr)!r}: {ending}")
    else:
        error = CniError(0, f"failed with no error message: {ending}")
    return PluginFailed(Path(plugin).name, verb, error, outcome)


def _go_ending(outcome: Outcome) -> str:
    return outcome.ending.name.replace("exit", "exit status")


def _short(error: ShapeError) -> str:
    return str(error).partition("\n")[0]
