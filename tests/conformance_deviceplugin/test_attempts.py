"""Registrations whose end a case waits for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.deviceplugin.attempts import Attempt, refusal, refused
from conformance.engine.targets.revision import Revision
from conformance.engine.verdict import Broken
from conformance.kubelet.node import NodeUnderTest
from conformance.kubelet.ours import OurKubelet
from refimpl.wire.client import Unreachable
from refimpl.wire.journal import Journal


@pytest.fixture
def node() -> Iterator[NodeUnderTest]:
    """A node with our kubelet."""
    client = OurKubelet()
    client.start()
    node = NodeUnderTest(client, Journal(), Revision("kubernetes", "1.37"), name="n", quiet_s=0.05)
    yield node
    node.clean_up()
    client.close()


def test_an_attempt_tells_how_it_ended(node: NodeUnderTest) -> None:
    """With success, with what the client said, or because nobody was there to say anything."""
    assert Attempt(node, node.plugin().serve()).outcome(10, "it is accepted") is None
    outcome = Attempt(node, node.plugin().serve(), version="v0").outcome(10, "it is refused")
    assert outcome
    assert "v0" in outcome.message
    node.client.end()
    with pytest.raises(Unreachable):
        Attempt(node, node.plugin(), connect_s=0.01).outcome(10, "nobody is there")


def test_time_passes_for_an_attempt_that_takes_long(node: NodeUnderTest) -> None:
    """The ten seconds of a dial, on a clock that can be moved."""
    outcome = Attempt(node, node.plugin()).outcome(15, "nobody serves")
    assert outcome
    assert "no such file" in outcome.message


def test_an_attempt_without_an_end_is_broken(
    node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that does not answer."""
    monkeypatch.setattr("conformance.deviceplugin.attempts._STEPS", 2)
    plugin = node.plugin().serve()
    plugin.held.add("GetDevicePluginOptions")
    with pytest.raises(Broken, match="an answer within 1 s"):
        Attempt(node, plugin).outcome(1, "it is answered")


def test_what_has_to_be_refused_is_not_accepted(node: NodeUnderTest) -> None:
    """And the other way round there is nothing to tell."""
    plugin = node.plugin().serve()
    assert "v0" in refusal(node, plugin, "an old version", version="v0").message
    assert refused(node, plugin) is None
    with pytest.raises(Broken, match="an error"):
        refusal(node, node.plugin().serve(), "a good one")
