"""What cases on plugins_registry look at: a socket without a listener, the pace of attempts."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from conformance.deviceplugin.registry import Deaf, refused, registered, unhurried
from conformance.engine.verdict import Broken
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.registration.plugin import Notified
from refimpl.wire.endpoint import Endpoint, probe


class Watching:
    """A node of which only this is asked."""

    quiet_s = 0.05
    stays = NodeUnderTest.stays

    def until(self, predicate: Any, _what: str) -> Any:
        """What is waited for has happened."""
        return predicate()


class Asked:
    """A plugin that is asked so many times more whenever somebody looks."""

    def __init__(self, pace: int) -> None:
        self._pace, self._count = pace, 0

    def calls(self, _rpc: str) -> list[None]:
        """The attempts so far."""
        self._count += self._pace
        return [None] * self._count


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a short name."""
    with tempfile.TemporaryDirectory(prefix="dp-") as name:
        yield Path(name)


def test_a_deaf_socket_refuses_until_somebody_listens(folder: Path) -> None:
    """Without any change of its file."""
    deaf = Deaf(folder / "x.sock")
    with contextlib.closing(deaf):
        inode = deaf.path.stat().st_ino
        assert probe(Endpoint.parse(deaf.path)) == "stale"
        deaf.listen()
        assert not deaf.called()
        assert probe(Endpoint.parse(deaf.path)) == "live"
        assert deaf.called()
        assert deaf.path.stat().st_ino == inode
    assert not deaf.path.exists()


def test_attempts_without_a_pause_are_noticed() -> None:
    """And rare ones are not."""
    node = cast("NodeUnderTest", Watching())
    unhurried(node, cast("ScriptedPlugin", Asked(0)))
    with pytest.raises(Broken, match="over and over"):
        unhurried(node, cast("ScriptedPlugin", Asked(5)))


@pytest.mark.parametrize(
    ("notified", "good", "bad"),
    [
        (Notified(True), True, False),
        (Notified(False, "why"), False, True),
        (Notified(False), False, False),
    ],
)
def test_what_a_plugin_is_told_is_judged(
    folder: Path, notified: Notified, good: bool, bad: bool
) -> None:
    """A refusal needs a reason."""
    plugin = ScriptedPlugin(folder / "x.sock", "example.com/dev")
    plugin.registration._notified.append(notified)
    node = cast("NodeUnderTest", Watching())
    with contextlib.nullcontext() if good else pytest.raises(Broken):
        registered(node, plugin)
    with contextlib.nullcontext() if bad else pytest.raises(Broken):
        refused(node, plugin, "it is odd")
