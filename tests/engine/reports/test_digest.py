"""How a stream is sorted, and which requirements count as met."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.engine import reports
from conformance.engine.events import Breach
from conformance.engine.reports.digest import Digest, also, headline


def test_cases_are_in_the_order_of_the_contract(sample: Any, case: Any) -> None:
    """Workers finish in any order; two reports of one target must be comparable."""
    digest = Digest.of(sample(only=[case(5), case(1), case(2), case(3)]))
    assert [done.id for done in digest.cases] == [
        "CSI-CTRL-003",
        "CSI-LV-001",
        "CSI-NPUB-002",
        "CSI-NPUB-005",
    ]
    assert list(digest.sections("pass")) == [
        "CreateVolume / DeleteVolume",
        "Lists, capacity, GetVolume, health",
        "Node service",
    ]


def test_a_known_failure_is_not_met_and_a_skip_not_judged(sample: Any, case: Any) -> None:
    """The score must not look better than the target is, nor count what it does not offer."""
    outcomes = ("pass", "fail", "warn", "skip", "xfail", "xpass", "error")
    digest = Digest.of(sample(only=[case(n, name) for n, name in enumerate(outcomes)]))
    assert digest.musts == (3, 6)


def test_softer_levels_are_no_part_of_the_score(sample: Any, case: Any) -> None:
    """A failed SHOULD under --strict is no failed MUST."""
    digest = Digest.of(sample(only=[case(1), case(2, "fail", "SHOULD"), case(3, "pass", "MAY")]))
    assert digest.musts == (1, 1)


def test_skips_are_grouped_by_reason_the_costliest_first(sample: Any, case: Any) -> None:
    """It tells which one capability would let most cases be judged."""
    reasons = ("no CLONE", "no SNAPSHOT", "no SNAPSHOT", "")
    skipped = [case(n, "skip", message=reason) for n, reason in enumerate(reasons)]
    skips = Digest.of(sample(only=skipped)).skips()
    assert [(reason, len(cases)) for reason, cases in skips.items()] == [
        ("no SNAPSHOT", 2),
        ("no CLONE", 1),
        ("no reason", 1),
    ]


def test_the_choices_read_like_the_command_line(sample: Any) -> None:
    """A verdict on a selection has to say on which."""
    config = {"only": ["CSI-CTRL-*", "CSI-LV-*"], "skip_re": "slow", "level": "may"}
    choices = Digest.of(sample(config=config)).choices
    assert choices == "--only CSI-CTRL-* --only CSI-LV-* --skip-re slow"


def test_a_run_over_all_interfaces_tells_them_apart_by_id(sample: Any, case: Any) -> None:
    """One stream can hold the cases of several interfaces."""
    digest = Digest.of(sample(interface="all", only=[case(1), case(2, id="CRI-SB-001")]))
    assert {digest.interface(done) for done in digest.cases} == {"csi", "cri"}
    assert digest.subject == "Node interface"


def test_a_stream_without_anything_is_still_a_stream() -> None:
    """A run killed at once must not crash who looks at it."""
    digest = Digest.of([])
    assert (digest.cases, digest.end, digest.musts) == ((), None, (0, 0))


@pytest.mark.parametrize("report", [reports.junit, reports.markdown, reports.html])
def test_every_report_tells_every_breach(
    sample: Any, case: Any, report: Callable[..., str]
) -> None:
    """A second breach beside a first one would be found only when the first is mended."""
    breach = Breach(rule="an id is told", wanted="an id at once", got="an id too late", soft=True)
    text = report(sample(end=1, only=[case(1, "fail", also=[breach])]))
    for part in ("an id is told (SHOULD)", "an id at once", "an id too late"):
        assert part in text


def test_a_short_line_tells_that_there_is_more(case: Any) -> None:
    """The part that is cut off is not the one that matters."""
    more = case(1, "warn", also=[Breach(rule="an id is told")])
    message = f"{'a long rule ' * 9}(and 1 more)"
    assert headline(more, message, 40) == "a long rule a long rule... (and 1 more)"
    assert headline(case(1, "warn"), "a rule", 40) == "a rule"
    assert headline(more, "known to be wrong", 40) == "known to be wrong"


def test_what_only_warns_is_no_softer_than_the_rest(case: Any) -> None:
    """Where everything warns, the mark would say nothing."""
    breach = Breach(rule="an id is told", soft=True)
    assert also(case(1, "warn", also=[breach])) == [("also", "an id is told")]
    assert also(case(1, "fail", "SHOULD", also=[breach])) == [("also", "an id is told")]
