"""Which call is hit by which rule: order, counting, budgets, and changes while calls run."""

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from refimpl.csi.api import csi_pb2 as csi
from refimpl.wire.faults import (
    Close,
    Crash,
    Delay,
    DropReply,
    EndStream,
    FaultError,
    FaultRule,
    Faults,
    Hang,
    Mutate,
    Status,
    labels,
)
from refimpl.wire.status import Code

CREATE = "/csi.v1.Controller/CreateVolume"
PROBE = "/csi.v1.Identity/Probe"
SERVICES = list(csi.DESCRIPTOR.services_by_name.values())
UNAVAILABLE = Status(Code.UNAVAILABLE)
ABORTED = Status(Code.ABORTED)


def hits(faults: Faults, calls: int, method: str = CREATE) -> list[str | None]:
    """The labels of so many calls in a row."""
    return [labels(faults.decide(method, csi.CreateVolumeRequest())) for _ in range(calls)]


def test_without_rules_nothing_happens() -> None:
    """The common case, and the one that must cost nothing."""
    assert Faults().decide(CREATE, None) == ()
    Faults().point("CreateVolume.after_effect")


@pytest.mark.parametrize(
    ("glob", "fits"),
    [
        ("CreateVolume", True),
        ("Create*", True),
        ("*", True),
        (CREATE, True),
        ("csi.v1.Controller/CreateVolume", True),
        ("/csi.v1.Controller/*", True),
        ("*/CreateVolume", True),
        ("createvolume", False),
        ("/csi.v1.Node/*", False),
        ("Volume", False),
    ],
)
def test_a_method_is_meant_by_name_or_full_name(glob: str, fits: bool) -> None:
    """People write what they see: in a spec the name, in a log the path."""
    faults = Faults([FaultRule(do=Hang(), method=glob)])
    assert bool(faults.decide(CREATE, None)) is fits


def test_twice_this_then_that_then_success() -> None:
    """A rule that settles a call hides it from the next, so rules follow on each other."""
    faults = Faults(
        [FaultRule(do=UNAVAILABLE, times=2, id="a"), FaultRule(do=ABORTED, times=1, id="b")]
    )
    assert hits(faults, 5) == ["a", "a", "b", None, None]
    assert faults.to_dict()["counts"]["b"] == {"seen": 3, "fired": 1, "holding": 0}


@pytest.mark.parametrize("last", [UNAVAILABLE, Close(), Close("after"), DropReply()])
def test_actions_add_up_until_one_settles_the_call(last: Status | Close | DropReply) -> None:
    """First slow, then wrong: one call may meet several rules."""
    rules = [
        FaultRule(do=Delay(0)),
        FaultRule(do=Mutate({"volume.volume_id": "x"})),
        FaultRule(do=last),
    ]
    faults = Faults([*rules, FaultRule(do=Hang())])
    assert hits(faults, 1) == ["r1, r2, r3"]


@pytest.mark.parametrize(
    ("rule", "hit"),
    [
        (FaultRule(do=UNAVAILABLE, nth=2), [2]),
        (FaultRule(do=UNAVAILABLE, nth=[1, 4]), [1, 4]),  # type: ignore[arg-type]
        (FaultRule(do=UNAVAILABLE, every=3), [3, 6]),
        (FaultRule(do=UNAVAILABLE, every=2, times=2), [2, 4]),
        (FaultRule(do=UNAVAILABLE, times=1), [1]),
        (FaultRule(do=UNAVAILABLE, probability=0.0), []),
        (FaultRule(do=UNAVAILABLE, probability=1.0, times=6), [1, 2, 3, 4, 5, 6]),
    ],
)
def test_turns_are_counted_from_one(rule: FaultRule, hit: list[int]) -> None:
    """Of the calls that fit a rule, which are hit."""
    fired = hits(Faults([rule]), 6)
    assert [number for number, label in enumerate(fired, start=1) if label] == hit


def test_only_calls_that_fit_are_counted() -> None:
    """The second CreateVolume is the second, however many probes come between."""
    faults = Faults([FaultRule(do=UNAVAILABLE, method="CreateVolume", nth=2)])
    assert [hits(faults, 1, method)[0] for method in (CREATE, PROBE, CREATE)] == [None, None, "r1"]


def test_chance_is_drawn_from_the_seed() -> None:
    """A run can be repeated, with or without a seed of one's own."""

    def draw(seed: int | None, id: str = "r1") -> list[str | None]:
        return hits(Faults([FaultRule(do=ABORTED, probability=0.5, seed=seed, id=id)]), 64)

    assert draw(7) == draw(7)
    assert draw(None) == draw(None)
    assert draw(7) != draw(8)
    assert 0 < Counter(draw(7))["r1"] < 64


def test_delays_may_spread_and_still_repeat() -> None:
    """Log-normal around the median, from the rule's own random numbers."""

    def draw() -> list[float]:
        faults = Faults([FaultRule(do=Delay(1.0, sigma=0.5))])
        actions = [faults.decide(CREATE, None)[0] for _ in range(100)]
        return [action.seconds for action in actions if isinstance(action, Delay)]

    seconds = draw()
    assert seconds == draw()
    assert len(set(seconds)) == 100
    assert 30 < sum(delay < 1.0 for delay in seconds) < 70


def test_a_budget_holds_when_many_threads_call() -> None:
    """Exactly so many calls fail, whoever makes them."""
    faults = Faults([FaultRule(do=UNAVAILABLE, times=50, every=2)])
    threads = [threading.Thread(target=hits, args=(faults, 100)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults.to_dict()["counts"]["r1"] == {"seen": 800, "fired": 50, "holding": 0}


def test_a_predicate_may_be_python() -> None:
    """In a test of one's own, code says more than a mapping."""
    faults = Faults([FaultRule(do=UNAVAILABLE, request=lambda request: request.name.isupper())])
    assert not faults.decide(CREATE, csi.CreateVolumeRequest(name="a"))
    assert faults.decide(CREATE, csi.CreateVolumeRequest(name="A"))
    assert "lambda" in faults.to_dict()["rules"][0]["when"]["request"]


def test_a_predicate_that_raises_is_reported_once_and_does_not_fire() -> None:
    """The server goes on; the mistake is seen on stderr and over the control socket."""
    reports: list[str] = []
    faults = Faults([FaultRule(do=UNAVAILABLE, request=lambda r: r.nme)], report=reports.append)
    assert hits(faults, 3) == [None, None, None]
    assert len(reports) == 1
    assert "its predicate raised AttributeError" in reports[0]
    assert faults.problems == reports


def test_what_a_mutation_could_not_do_is_noted_and_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """For a method known only by a glob, the path is first tried on the reply."""
    faults = Faults([FaultRule(do=Mutate({"volume.id": "x"}), method="Create*")])
    for _ in range(2):
        actions = faults.decide(CREATE, None)
        assert actions[0].after(None, csi.CreateVolumeResponse()) == csi.CreateVolumeResponse()  # type: ignore[arg-type]
        faults.note(actions)
    label = labels(actions)
    assert label is not None
    assert label.startswith("r1 ('volume.id': Volume has no field 'id'")
    assert faults.problems == [f"fault {label}"]
    assert capsys.readouterr().err == f"refimpl: fault {label}\n"


def test_rules_are_added_removed_and_replaced() -> None:
    """Steering: ids stay, new ones do not collide."""
    faults = Faults([FaultRule(do=Hang()), FaultRule(do=Hang(), id="mine")])
    assert faults.add(FaultRule(do=ABORTED), FaultRule(do=ABORTED, id="r9")) == ["r2", "r9"]
    faults.remove("r1")
    assert [rule.id for rule in faults.rules] == ["mine", "r2", "r9"]
    assert faults.add(FaultRule(do=Hang())) == ["r3"]
    assert faults.replace([FaultRule(do=ABORTED)]) == ["r1"]
    faults.clear()
    assert faults.rules == ()
    assert faults.decide(CREATE, None) == ()


def test_a_name_that_a_rule_chose_is_not_given_to_another() -> None:
    """Also when the rule that chose it comes later in the list."""
    assert Faults().add(FaultRule(do=Hang()), FaultRule(do=Hang(), id="r1")) == ["r2", "r1"]


def test_a_new_rule_acts_on_a_method_that_was_called_before() -> None:
    """What was looked up once per method must not outlive a change of rules."""
    faults = Faults([FaultRule(do=ABORTED, method="Probe")])
    assert hits(faults, 1) == [None]
    faults.add(FaultRule(do=ABORTED, method="CreateVolume"))
    assert hits(faults, 1) == ["r2"]


def test_many_unknown_methods_do_not_grow_the_memory() -> None:
    """A caller can make up any number of names."""
    faults = Faults([FaultRule(do=Hang(), method="Probe")])
    for number in range(3000):
        faults.decide(f"/x.Y/{number}", None)
    assert len(faults._by_method) <= 1024


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.add(FaultRule(do=Hang(), id="a")),
        lambda f: f.replace([FaultRule(do=Hang(), id="b"), FaultRule(do=Hang(), id="b")]),
    ],
)
def test_an_id_is_given_once_and_a_refused_change_changes_nothing(
    change: Callable[[Faults], object],
) -> None:
    """Half a change would be worse than none."""
    faults = Faults([FaultRule(do=Hang(), id="a")])
    with pytest.raises(FaultError, match="another rule has it"):
        change(faults)
    assert [rule.id for rule in faults.rules] == ["a"]


def test_removing_what_is_not_there_names_what_is() -> None:
    """An id is easily mistyped."""
    with pytest.raises(LookupError, match=r"'x' \(there are: r1\)"):
        Faults([FaultRule(do=Hang())]).remove("x")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            FaultRule(do=Hang(), method="CreateVolum"),
            "fits no RPC served: did you mean CreateVolume",
        ),
        (FaultRule(do=Hang(), method="/csi.v1.Node/Attach"), "fits no RPC served"),
        (FaultRule(do=EndStream(1), method="CreateVolume"), "sends one reply"),
        (FaultRule(do=Mutate({"volume_id": "x"}), method="CreateVolume"), "do.mutate: 'volume_id'"),
        (FaultRule(do=Mutate({"nowhere": "x"}), method="*"), "do.mutate: 'nowhere'"),
        (FaultRule(do=Hang(), method="Create*", request={"nam": "x"}), "when.request: 'nam'"),
    ],
)
def test_a_rule_for_nothing_that_is_served_is_refused(rule: FaultRule, message: str) -> None:
    """Once the services are known, globs can be judged, too: before and after the fact."""
    faults = Faults([rule])
    with pytest.raises(FaultError) as caught:
        faults.check(SERVICES)
    assert message in str(caught.value)
    with pytest.raises(FaultError):
        faults.add(rule)


@pytest.mark.parametrize(
    "rule",
    [
        FaultRule(do=Hang(), method="/runtime.v1.RuntimeService/Version"),
        FaultRule(do=Mutate({"volume.volume_id": "x"}), method="*"),
        FaultRule(do=EndStream(1), method="GetMetadata*"),
        FaultRule(do=Hang(), method="*", request={"volume_id": "v"}),
        FaultRule(do=Crash("CreateVolume.*")),
    ],
)
def test_a_rule_that_can_act_on_some_method_passes(rule: FaultRule) -> None:
    """Rules for another server of the same file, and globs that fit one method of many."""
    faults = Faults([rule])
    faults.check(SERVICES)
    assert len(faults.rules) == 1


def test_a_crash_ends_the_process_at_the_point_whose_turn_it_is() -> None:
    """As `kill -9` would: the code is the one a shell reports for that."""
    codes: list[int] = []
    reports: list[str] = []
    rule = FaultRule(do=Crash("CreateVolume.*"), nth=2, id="c")
    faults = Faults([rule], exit=codes.append, report=reports.append)
    assert faults.decide(CREATE, None) == ()
    for name in ("CreateVolume.before", "Probe.before", "CreateVolume.after", "CreateVolume.x"):
        faults.point(name)
    assert codes == [137]
    assert reports == ["fault c: crash at CreateVolume.after"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Status(Code.OK),
        lambda: Delay(-1),
        lambda: Delay(float("nan")),
        lambda: Delay(1e9),
        lambda: EndStream(-1),
        lambda: Close("later"),
        lambda: FaultRule(do=Hang(), id="a b"),
        lambda: FaultRule(do=Hang(), method=""),
        lambda: FaultRule(do=Hang(), nth=(0,)),
        lambda: FaultRule(do=Hang(), every=0),
        lambda: FaultRule(do=Hang(), times=0),
        lambda: FaultRule(do=Hang(), probability=1.5),
        lambda: FaultRule(do=Hang(), seed=1),
        lambda: FaultRule(do=Hang(), nth=(1,), probability=0.5),
        lambda: FaultRule(do=Crash("x"), method="y"),
    ],
)
def test_what_makes_no_sense_is_refused_in_python_as_well(make: Callable[[], object]) -> None:
    """The mistake shows where it was made, and not in a server thread."""
    with pytest.raises(ValueError, match=r"\w"):
        make()
