"""Laws that placement and allocation keep whatever they are given."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from refimpl.deviceplugin.profiles import settings_of
from refimpl.deviceplugin.state import DeviceState
from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.effects import Allocate, Effect
from refimpl.deviceplugin.state.hints import Hint, generate
from refimpl.deviceplugin.state.merge import TopologyPolicy
from refimpl.deviceplugin.state.models import (
    Container,
    ContainerResponse,
    Device,
    PluginOptions,
    Pod,
)
from refimpl.deviceplugin.state.order import order_of
from refimpl.deviceplugin.state.scopes import pod_request
from refimpl.deviceplugin.state.select import TooFew, select
from refimpl.wire.status import Code, Refused

R = "example.com/gpu"
NODES = (0, 1, 2)
HINTS = st.none() | st.lists(
    st.builds(Hint, st.none() | st.integers(1, 7), st.booleans()), max_size=4
)
PROVIDERS = st.lists(
    st.dictionaries(st.sampled_from("abcd"), HINTS, max_size=3) | st.none(), max_size=4
)
IDS = st.lists(st.sampled_from("abcdefgh"), unique=True)
DEVICES = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.none() | st.lists(st.integers(0, 3), max_size=2, unique=True).map(tuple),
    min_size=1,
).map(lambda places: {name: Device(name, nodes=nodes) for name, nodes in places.items()})
ORDERS = st.sampled_from(["sorted", "adversarial", "shuffled:1", "shuffled:2"]).map(order_of)


@given(PROVIDERS, st.randoms(use_true_random=False), st.sampled_from(["best-effort", "restricted"]))
def test_the_order_of_providers_resources_and_hints_does_not_matter(
    providers: list[Any], source: Any, name: Any
) -> None:
    """kubelet walks maps; an outcome that hung on it would differ between two admissions."""
    policy = TopologyPolicy(name, NODES)
    mixed = []
    for provider in source.sample(providers, len(providers)):
        items = source.sample([*(provider or {}).items()], len(provider or {}))
        mixed.append({key: hints and source.sample(hints, len(hints)) for key, hints in items})
    assert policy.merge(providers) == policy.merge(mixed)


@given(PROVIDERS)
def test_the_strict_policies_admit_no_more_than_the_lenient_ones(providers: list[Any]) -> None:
    """What fits on one node is restricted's choice as well, and best-effort admits all."""
    best, restricted, single = (
        TopologyPolicy(name, NODES).merge(providers)
        for name in ("best-effort", "restricted", "single-numa-node")
    )
    assert best.admitted
    assert best.hint == restricted.hint
    assert restricted.admitted or not single.admitted


@given(DEVICES, IDS, st.integers(1, 8))
def test_older_kubelets_prefer_the_same_masks(
    known: dict[str, Device], free: list[str], request: int
) -> None:
    """Leaving out nodes without devices takes away masks that nobody prefers, and adds none."""
    free = [name for name in free if name in known]
    new = {*generate(known, NODES, request, free)}
    old = {*generate(known, NODES, request, free, bearing="machine")}
    assert new <= old or not any(device.nodes for device in known.values())
    assert {hint for hint in new if hint.preferred} <= {hint for hint in old if hint.preferred}


@given(DEVICES, st.integers(1, 8), st.none() | st.integers(1, 7), ORDERS, IDS, IDS)
def test_selection_gives_as_many_as_asked_and_prefers_the_aligned(
    known: dict[str, Device],
    count: int,
    affinity: int | None,
    order: Any,
    answer: list[str],
    reusable: list[str],
) -> None:
    """Whatever the plugin answers: all different, all to be had, what is for reuse first."""
    again = [name for name in reusable if name in known]
    free = known.keys() - {*again}
    choice = select(count, known, free, again, affinity, order)
    try:
        question = next(choice)
        assert question.chosen <= question.available
        choice.send([*answer, "foreign"])
    except TooFew:
        assert len(known) < count
        return
    except StopIteration as stop:
        ids = stop.value
    assert len({*ids}) == len(ids) == count
    assert {*ids} <= known.keys()
    assert {*ids} <= {*again} or {*again} <= {*ids}


@given(st.lists(st.tuples(st.sampled_from("is"), st.integers(0, 4)), max_size=4), st.integers(0, 4))
def test_the_peak_of_a_pod_is_what_a_replay_needs(steps: list[tuple[str, int]], app: int) -> None:
    """Start the containers one by one and look how much is held at the worst moment."""
    init = tuple(
        Container(f"i{n}", {R: count}, restartable=kind == "s")
        for n, (kind, count) in enumerate(steps)
    )
    kept, worst = 0, 0
    for kind, count in steps:
        worst = max(worst, kept + count)
        kept += count if kind == "s" else 0
    worst = max(worst, kept + app)
    assert pod_request(Pod("u", (Container("c", {R: app}),), init), {R}) == {R: worst}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["Healthy", "", "healthy"]))))
def test_the_same_list_twice_changes_nothing(entries: list[tuple[str, str]]) -> None:
    """A list is the whole truth, not a difference; ids named once are not reported as changed."""
    devices = Devices()
    listed = [Device(name, health) for name, health in entries]
    devices.take(R, listed)
    before = (dict(devices.known[R]), devices.healthy[R], devices.unhealthy[R])
    intake = devices.take(R, listed)
    assert before == (devices.known[R], devices.healthy[R], devices.unhealthy[R])
    assert {*intake.changed} <= {name for name, _ in entries if len(_healths(entries, name)) > 1}


def _healths(entries: list[tuple[str, str]], name: str) -> set[str]:
    return {health for listed, health in entries if listed == name}


class Kubelet(RuleBasedStateMachine):
    """Pods come and go, calls fail, devices fall ill: no device is held twice, none is lost."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.failing = False
        self.serial = 0
        self.state = DeviceState(
            settings_of("ideal"), clock=lambda: self.now, order=order_of("shuffled:3")
        )
        self.tables = self.state.tables
        connection = self.tables.endpoints.register(R, "a.sock")
        assert connection is not None
        self.tables.endpoints.connect(connection, PluginOptions())
        self.tables.listed(R, [Device(name) for name in "abcdef"])

    def call(self, effect: Effect) -> object:
        if isinstance(effect, Allocate) and self.failing:
            raise Refused(Code.INTERNAL, "not now")
        return (ContainerResponse(),)

    @rule(init=st.integers(0, 3), side=st.integers(0, 2), app=st.integers(0, 4), fail=st.booleans())
    def admit(self, init: int, side: int, app: int, fail: bool) -> None:
        self.failing = fail
        self.serial += 1
        first = Container("init", {R: init})
        second = Container("side", {R: side}, restartable=True)
        pod = Pod(f"u{self.serial}", (Container("app", {R: app}),), (first, second))
        admission = self.state.run(self.state.admissions.admit(pod), self.call)
        assert admission.accepted == (pod.uid in self.tables.pods)

    @precondition(lambda self: self.tables.pods)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        self.state.admissions.remove(data.draw(st.sampled_from(sorted(self.tables.pods))))

    @rule(ill=st.sets(st.sampled_from("abcdef")))
    def report(self, ill: set[str]) -> None:
        self.tables.listed(R, [Device(n, "Unhealthy" if n in ill else "Healthy") for n in "abcdef"])

    @invariant()
    def running_containers_share_no_device(self) -> None:
        held: list[str] = []
        for record in self.tables.records:
            if record.container != "init":
                held += record.ids
        assert len({*held}) == len(held)

    @invariant()
    def what_is_recorded_is_in_use_and_nothing_else(self) -> None:
        recorded = self.tables.records.in_use().get(R, set())
        assert self.tables.in_use.get(R, set()) == recorded

    @invariant()
    def after_all_have_left_all_is_free(self) -> None:
        if not self.tables.pods:
            self.tables.collect()
            assert not self.tables.in_use.get(R)

    @invariant()
    def counting_does_not_depend_on_use(self) -> None:
        counted = self.state.count()
        assert counted.capacity == {R: 6}
        assert counted.allocatable == {R: len(self.tables.devices.healthy[R])}


TestKubelet = Kubelet.TestCase
TestKubelet.settings = settings(max_examples=60, stateful_step_count=25)
