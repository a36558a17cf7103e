"""A finding in words."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.engine import cases
from conformance.engine.judging import narrate
from conformance.engine.targets.target import Target
from conformance.engine.verdict import Broken, Doubtful, Several
from refimpl.wire.client import Unreachable
from refimpl.wire.journal import Entry
from refimpl.wire.status import Code, Refused

TARGET = cast("Target", SimpleNamespace(reproduce=lambda calls: f"again {calls[-1].rpc}"))


def call(rpc: str, code: Code = Code.OK) -> Entry:
    """One call to a toy."""
    return Entry(method=f"/toys.v1.Toys/{rpc}", side="client", code=code)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Broken("toys are whole", "a wheel", "no wheel"), "toys are whole"),
        (Refused(Code.NOT_FOUND, "no such toy"), "Play has to succeed here"),
        (Unreachable("nobody listens"), "nobody listens"),
        (AssertionError(), "an assertion failed"),
        (KeyError("wheel"), "KeyError: 'wheel'"),
    ],
)
def test_each_error_makes_a_sentence(error: BaseException, message: str) -> None:
    """A refusal where OK was due names the RPC that was refused."""
    calls = [call("Play", Code.NOT_FOUND), call("Stop")]
    assert narrate.finding(TARGET, error, calls)["message"] == message


def test_a_refusal_says_what_was_wanted_and_got() -> None:
    """As every other finding does."""
    finding = narrate.finding(TARGET, Refused(Code.NOT_FOUND, "no such toy"), [])
    assert (finding["wanted"], finding["got"]) == ("OK", "NOT_FOUND: no such toy")
    assert finding["message"] == "a call has to succeed here"
    assert "reproduce" not in finding


def test_every_breach_is_told_each_refusal_with_its_call() -> None:
    """The message is that of the breach which decides, and says how many more there are."""
    breaches = [
        Doubtful("toys are red", "red", "grey"),
        Refused(Code.NOT_FOUND, "no such toy"),
        Refused(Code.ABORTED, "busy"),
    ]
    calls = [call("Play", Code.NOT_FOUND), call("Stop", Code.ABORTED), call("Show")]
    finding = narrate.finding(TARGET, Several(breaches), calls)
    assert finding["message"] == "Play has to succeed here (and 2 more)"
    assert (finding["wanted"], finding["got"]) == ("OK", "NOT_FOUND: no such toy")
    assert finding["also"] == [
        {"rule": "Stop has to succeed here", "wanted": "OK", "got": "ABORTED: busy", "soft": False},
        {"rule": "toys are red", "wanted": "red", "got": "grey", "soft": True},
    ]


def test_all_calls_of_a_finding_are_kept_and_the_names_of_the_last_of_a_pass() -> None:
    """A script of a finding has to be whole."""
    calls = [call(f"Play{number}") for number in range(30)]
    finding = narrate.finding(TARGET, AssertionError("x"), calls)
    assert finding["calls"][0]["method"] == "/toys.v1.Toys/Play0"
    assert len(finding["calls"]) == 30
    assert finding["reproduce"] == "again Play29"
    assert narrate.call_names(calls)[-1] == {"rpc": "Play29", "code": "OK"}
    assert len(narrate.call_names(calls)) == 12


def test_a_case_brings_its_section_along() -> None:
    """Reports group by the sections of the contract."""
    fields = narrate.case_fields(cases.found("csi")["CSI-CTRL-019"].case)
    assert fields["section"]
    assert set(fields) == {"id", "level", "title", "why", "source", "section"}


def test_a_file_is_taken_as_given_or_from_our_own(tmp_path: Path, monkeypatch: Any) -> None:
    """A file of the user wins over ours of that name."""
    monkeypatch.chdir(tmp_path)
    name = "csi-driver-host-path"
    assert narrate.fixture_paths([name], "targets")[0].name == f"{name}.toml"
    Path(name).write_text("")
    assert narrate.fixture_paths([name, "x.toml"], "targets") == [Path(name), Path("x.toml")]
