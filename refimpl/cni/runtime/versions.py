"""Which versions a plugin supports (CNI 1.1, "VERSION")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refimpl.cni.contract import ShapeError, Verb, supported_versions
from refimpl.cni.runtime import answers, requests
from refimpl.cni.runtime.calls import Calls
from refimpl.cni.runtime.trouble import BadAnswer, PluginFailed

__all__ = ["ANCIENT", "probe"]

ANCIENT: Final = ("0.1.0",)
"""What a plugin without VERSION supports."""

_UNKNOWN_VERB: Final = "unknown CNI_COMMAND: VERSION"


def probe(calls: Calls, plugin: str) -> Sequence[str]:
    """The versions that the plugin says it supports, in its order.

    A plugin that does not know the verb is of 0.1.0. Raises PluginMissing, PluginFailed, BadAnswer.
    """
    rules = calls.profile
    program = calls.find(plugin, Verb.VERSION)
    request = requests.probe(rules.requests, calls.path, calls.ambient)
    outcome = calls.run(program, Verb.VERSION, request)
    try:
        answers.read_nothing(rules.answers, program, Verb.VERSION, outcome)
    except PluginFailed as error:
        if error.msg == _UNKNOWN_VERB:
            return ANCIENT
        raise
    try:
        return supported_versions(outcome.document)
    except ShapeError as error:
        raise BadAnswer(plugin, Verb.VERSION, f"stdout is {error}", outcome) from error
