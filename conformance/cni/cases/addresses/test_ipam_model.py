"""Any sequence of calls: what an IPAM plugin holds is what its history says it has to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from conformance.cni.needs import IPAM, LOCAL_STORE
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.reservations import (
    Reservations,
    failed,
    given,
    neighbours,
    pool,
    ranged,
)
from conformance.engine.case import PROPERTY, case
from conformance.engine.verdict import expect
from refimpl.cni.contract import SINCE, Verb, at_least
from refimpl.cni.execute import Outcome

_ADDRESSES, _CONTAINERS = 3, 4
_EXAMPLES, _STEPS = 6, 10


class _Network:
    """One network of few addresses, and which of its containers has which, as it has to be."""

    def __init__(self, plugin: PluginUnderTest, name: str, pods: list[CniAttachment]) -> None:
        self._plugin, self._config = plugin, {**ranged(plugin, pool(_ADDRESSES)), "name": name}
        self._store, self.pods = Reservations(plugin, name), pods
        self.held: dict[int, str] = {}
        self.gone = False

    def add(self, number: int) -> None:
        """ADD: an address nobody has, as long as there is one."""
        outcome = self._run(Verb.ADD, number)
        if len(self.held) == _ADDRESSES:
            failed(outcome, "ADD fails where every address is held", 11)
            return
        addresses = given(outcome, "ADD succeeds as long as an address is free")
        taken = sorted(self.held.values())
        rule = "ADD gives an address that nobody holds"
        expect(not set(addresses) & set(taken), rule, wanted=f"none of {taken}", got=addresses)
        self.held[number] = addresses[0]
        self.pods[number].result = outcome.document

    def delete(self, number: int) -> None:
        """DEL: it succeeds whatever was before."""
        succeeded(self._run(Verb.DEL, number), "DEL succeeds whatever was before")
        self.held.pop(number, None)

    def check(self, number: int) -> None:
        """CHECK of what is attached."""
        succeeded(self._run(Verb.CHECK, number), "CHECK of what is attached succeeds")

    def gc(self, numbers: set[int]) -> None:
        """GC that keeps these; some of them are not attached."""
        valid = [self.pods[number] for number in sorted(numbers)]
        succeeded(self._plugin.gc(valid, self._config), "GC succeeds")
        self.held = {each: address for each, address in self.held.items() if each in numbers}

    def restart(self) -> None:
        """The machine starts anew: the namespaces are gone, the store is not."""
        self.gone = True

    def holds(self) -> None:
        """Raises Broken unless the store has what the history says."""
        wanted = {ip: _key(self.pods[number]) for number, ip in self.held.items()}
        owners = self._store.owners()
        rule = "the store holds an address for each attachment, and no other"
        expect(owners == wanted, rule, wanted=wanted, got=owners)

    def _run(self, verb: Verb, number: int) -> Outcome:
        pod = self.pods[number]
        lost = self.gone and verb == Verb.DEL and number in self.held
        request = self._plugin.request(verb, pod, self._config)
        return self._plugin.run(request.with_env(CNI_NETNS="") if lost else request)


def _key(pod: CniAttachment) -> tuple[str, str]:
    return pod.container_id, pod.ifname


@PROPERTY
@case("CNI-PLG-121", "CNI 1.1 Section 2, CNI operations", needs=[IPAM, LOCAL_STORE])
def test_the_store_follows_every_sequence_of_calls(plugin: PluginUnderTest) -> None:
    """Addresses leak or are given twice in orders of calls that nobody thought of.

    CHECK where the plugin has 0.4.0, GC where it has 1.1.0; a store without attachments is empty.
    """
    from hypothesis import seed
    from hypothesis.stateful import run_state_machine_as_test

    from conformance.engine.properties import quiet

    machine = seed(plugin.seed)(_machine(plugin))
    # The calls are in the finding; making them fewer costs too many.
    how = quiet(_EXAMPLES, steps=_STEPS, shrink=False)
    run_state_machine_as_test(machine, settings=how)


def _networks(plugin: PluginUnderTest) -> Iterator[_Network]:
    """A new one for each sequence, its containers in one namespace."""
    pod = plugin.pod()
    for number in itertools.count(1):
        yield _Network(plugin, f"{plugin.network}-{number}", neighbours(pod, _CONTAINERS))


def _machine(plugin: PluginUnderTest) -> Any:
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

    networks = _networks(plugin)
    checks, collects = (at_least(plugin.newest, SINCE[verb]) for verb in (Verb.CHECK, Verb.GC))
    numbers = st.integers(0, _CONTAINERS - 1)

    class Calls(RuleBasedStateMachine):
        """The calls of a runtime; ADD only for what is not attached, CHECK only for what is."""

        def __init__(self) -> None:
            super().__init__()
            self.network = next(networks)

        @precondition(lambda self: len(self.network.held) < _CONTAINERS)
        @rule(data=st.data())
        def add(self, data: Any) -> None:
            free = [each for each in range(_CONTAINERS) if each not in self.network.held]
            self.network.add(data.draw(st.sampled_from(free)))

        @rule(number=numbers)
        def delete(self, number: int) -> None:
            self.network.delete(number)

        @precondition(lambda self: checks and self.network.held)
        @rule(data=st.data())
        def check(self, data: Any) -> None:
            self.network.check(data.draw(st.sampled_from(sorted(self.network.held))))

        @precondition(lambda self: collects and self.network.held)
        @rule(kept=st.sets(numbers, max_size=2))
        def gc(self, kept: set[int]) -> None:
            self.network.gc(kept)

        @precondition(lambda self: self.network.held and not self.network.gone)
        @rule()
        def restart(self) -> None:
            self.network.restart()

        @invariant()
        def holds(self) -> None:
            self.network.holds()

        def teardown(self) -> None:
            for number in sorted(self.network.held):
                self.network.delete(number)
            self.network.holds()

    return Calls
