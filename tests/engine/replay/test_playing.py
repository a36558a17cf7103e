"""Names of then and now, and whether a call ends as it did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.engine.replay.player.playing import AS_THEN, Names, outline, play, tell


def test_what_a_reply_tells_is_sent_in_the_place_of_what_it_told() -> None:
    """Ids as whole texts, folders and the run wherever they stand."""
    names = Names({"/tmp/refimpl-x": "/tmp/y", "r4": "r5"})
    names.learn(
        {"volume": {"id": "5", "size": 5}, "list": [{"mac": "aa"}]},
        {"volume": {"id": "81", "size": 6}, "list": [{"mac": "bb"}, {"mac": "cc"}]},
    )
    sent = {"id": "5", "name": "refimpl-r4-5", "at": ["/tmp/refimpl-x/d"], "mac": "aa", "n": 5}
    assert names.now(sent) == {
        "id": "81",
        "name": "refimpl-r5-5",
        "at": ["/tmp/y/d"],
        "mac": "bb",
        "n": 5,
    }


@pytest.mark.parametrize(
    ("then", "now", "alike"),
    [
        ({"id": "a", "n": 1}, {"n": 1, "id": "b"}, True),
        ({"id": "a"}, {"id": "a", "more": "b"}, False),
        ([{"n": 1}], [{"n": 2}], False),
        (["a"], [], False),
        (None, {}, False),
    ],
)
def test_replies_are_compared_by_what_is_there(then: Any, now: Any, alike: bool) -> None:
    """How things are called differs in every run."""
    assert (outline(then) == outline(now)) == alike


CALL = {"name": "Play", "request": {"id": "a"}, "code": "OK", "reply": {"id": "a"}}


@pytest.mark.parametrize(
    ("answer", "alike"),
    [(("OK", "", {"id": "b"}), True), (("ABORTED", "", None), False), (("OK", "", {}), False)],
)
def test_the_last_call_decides(
    answer: tuple[str, str, Any], alike: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its status and what its reply holds; an end that differs is shown."""
    asked: list[Any] = []

    def ask(_call: Mapping[str, Any], request: Any) -> tuple[str, str, Any]:
        asked.append(request)
        return ("OK", "", {"id": "z"}) if len(asked) == 1 else answer

    assert play([CALL, CALL], ask, Names({})) == alike
    assert asked == [{"id": "a"}, {"id": "z"}]
    shown = capsys.readouterr().out
    assert ("(then: OK)" in shown) == (answer[0] != "OK")


def test_a_finding_is_told_with_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 where it ends as it did."""
    assert tell(True, {"wanted": "x"}) == AS_THEN == 1
    assert tell(False, {}) == 0
    assert "wanted:  x\nthe calls end as they did\n" in capsys.readouterr().out
