"""Registrations of which a case does not know beforehand how they end, or when."""

from __future__ import annotations

import threading
from typing import Any

from conformance.engine.verdict import Broken, expect, timeout
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Refused

__all__ = ["Attempt", "refusal", "refused"]

_STEP_S, _STEPS, _LOOK_S = 2.0, 50, 0.02


class Attempt:
    """A Register that runs beside the case; fields as of `ScriptedPlugin.register`."""

    def __init__(self, node: NodeUnderTest, plugin: ScriptedPlugin, **fields: Any) -> None:
        self._node, self._plugin, self._fields = node, plugin, fields
        self._error: Exception | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="refimpl-attempt", daemon=True).start()

    def _run(self) -> None:
        try:
            self._plugin.register(self._node.plugins, **self._fields)
        except (Refused, Unreachable, ValueError) as error:
            self._error = error
        finally:
            self._ended.set()

    def ends(self, within_s: float) -> bool:
        """Whether it ends in that time. Where time can be put forward, more passes, in small steps:
        nobody tells when the client began to wait."""
        if "clock" not in self._node.client.able:
            return self._ended.wait(timeout(within_s))
        for _ in range(_STEPS):
            if self._ended.wait(_LOOK_S):
                return True
            self._node.client.advance(_STEP_S)
        return False

    def outcome(self, within_s: float, what: str) -> Refused | None:
        """The refusal, None after a success; raises Broken if there is no answer in time, and
        Unreachable where nobody serves."""
        if not self.ends(within_s):
            raise Broken(what, f"an answer within {within_s:g} s", "none")
        if self._error is None or isinstance(self._error, Refused):
            return self._error
        raise self._error


def refused(node: NodeUnderTest, plugin: ScriptedPlugin, **fields: Any) -> Refused | None:
    """Registers, and returns the refusal or None."""
    try:
        plugin.register(node.plugins, **fields)
    except Refused as refusal:
        expect(node.client.running(), "the client lives on", wanted="", got=node.client.fate())
        return refusal
    return None


def refusal(node: NodeUnderTest, plugin: ScriptedPlugin, rule: str, **fields: Any) -> Refused:
    """Registers what has to be refused; raises Broken if it is not."""
    refused_with = refused(node, plugin, **fields)
    if refused_with is None:
        raise Broken(rule, "an error", f"success, for {fields}")
    return refused_with
