"""Order and halting by verb."""

import pytest

from refimpl.cni.config import PluginConf
from refimpl.cni.contract import CniError, Verb
from refimpl.cni.runtime.chains import CHAINS, walk

PLUGINS = [PluginConf(name) for name in ("a", "b", "c")]
ORDERS = {Verb.ADD: "abc", Verb.DEL: "cba", Verb.CHECK: "abc", Verb.STATUS: "abc", Verb.GC: "abc"}


@pytest.mark.parametrize("verb", CHAINS)
def test_each_verb_has_its_order(verb: Verb) -> None:
    """Only DEL goes backward."""
    seen: list[str] = []
    assert walk(verb, PLUGINS, lambda plugin: seen.append(plugin.type)) == []
    assert "".join(seen) == ORDERS[verb]


@pytest.mark.parametrize("verb", CHAINS)
def test_only_gc_goes_on_after_an_error(verb: Verb) -> None:
    """And gathers them."""
    seen: list[str] = []

    def step(plugin: PluginConf) -> None:
        seen.append(plugin.type)
        raise CniError(7, plugin.type)

    if CHAINS[verb].halts:
        with pytest.raises(CniError):
            walk(verb, PLUGINS, step)
        assert "".join(seen) == ORDERS[verb][0]
    else:
        assert [str(each)[0] for each in walk(verb, PLUGINS, step)] == ["a", "b", "c"]


def test_errors_to_skip_do_not_halt() -> None:
    """What never ran has nothing to take back."""
    seen: list[str] = []

    def step(plugin: PluginConf) -> None:
        seen.append(plugin.type)
        if plugin.type == "b":
            raise CniError(7, "no")

    assert walk(Verb.DEL, PLUGINS, step, skip=(CniError,)) == []
    assert seen == ["c", "b", "a"]
