"""How a plugin may answer what makes no sense, and that it lives on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.engine.verdict import Broken, expect
from refimpl.wire.status import Code, Refused

__all__ = ["answered", "refused", "survives"]

T = TypeVar("T")

_SILENT = frozenset({Code.CANCELLED, Code.DEADLINE_EXCEEDED})
"""No answer; any other code is one: plugins in Go say UNKNOWN of nearly everything."""


def answered(call: Callable[[], T], rule: str) -> T | None:
    """The reply, or None for an error of whatever kind; Broken(rule) where nothing comes."""
    try:
        return call()
    except Refused as refusal:
        if refusal.code in _SILENT:
            raise Broken(rule, "a reply or an error", str(refusal)) from None
        return None


def refused(call: Callable[[], object], rule: str) -> None:
    """Broken(rule) unless the call ends with an error."""
    reply = answered(call, rule)
    if reply is not None:
        raise Broken(rule, "an error", f"OK, {reply}")


def survives(plugin: DevicePluginUnderTest, after: str) -> None:
    """It runs, and answers at the same socket within 5 s."""
    problem = (
        _death(plugin) or plugin.calls.problem_at(lambda: plugin.socket, 5.0) or _death(plugin)
    )
    expect(
        not problem,
        f"after {after} the plugin is there as before",
        wanted="it answers GetDevicePluginOptions",
        got=problem,
    )


def _death(plugin: DevicePluginUnderTest) -> str:
    return "" if plugin.process.alive() else plugin.process.fate()
