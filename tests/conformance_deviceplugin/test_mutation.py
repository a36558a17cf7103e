"""Where a mutant of our plugin stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from conformance.deviceplugin.mutation import PluginMutant
from conformance.deviceplugin.plugins.opening import open_plugin
from conformance.deviceplugin.plugins.target import PluginTarget
from conformance.engine import mutants
from conformance.engine.mutants import Mutant
from refimpl.wire.journal import Journal
from refimpl.wire.status import Code, Refused
from tests.targets import resolved


class Bent(PluginMutant):
    """Changes what is said on both sides."""

    def Register(self, proceed: Any, request: Any, channel: Any) -> Any:
        """Under another name."""
        request.resource_name = "example.com/bent"
        return proceed(request, channel)

    def Allocate(self, proceed: Any, request: Any, call: Any) -> Any:
        """Not at all."""
        raise Refused(Code.INTERNAL, "bent")


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginTarget]:
    """The mutant."""
    monkeypatch.setattr(mutants, "load", lambda *_: Bent())
    opened = open_plugin(resolved("deviceplugin", "mutant:Bent"), Journal())
    yield opened
    opened.close()


def test_it_stands_before_rpcs_and_before_register(target: PluginTarget) -> None:
    """And nowhere else: what it does not name works."""
    plugin = target.look()
    assert plugin.resource == "example.com/bent"
    assert plugin.calls.options().pre_start_required
    with pytest.raises(Refused, match="INTERNAL: bent"):
        plugin.calls.allocate(plugin.ids()[:1])


def test_when_the_target_is_closed_our_plugin_is_whole_again(target: PluginTarget) -> None:
    """Other targets of this process have nothing to do with it."""
    target.close()
    whole = open_plugin(resolved("deviceplugin"), Journal())
    try:
        assert whole.look().resource == "example.com/gpu"
    finally:
        whole.close()


def test_choices_are_its_shape() -> None:
    """In which the healthy plugin is judged as well."""

    class Shaped(PluginMutant):
        choices: ClassVar[Mapping[str, Any]] = {"persona": "cdi"}

    assert Bent.shape() == Mutant.shape() == ""
    assert Shaped.shape()
