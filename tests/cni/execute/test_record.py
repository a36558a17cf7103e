"""Requests, outcomes and their records."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from refimpl.cni.contract import ShapeError
from refimpl.cni.execute import Conditions, Exec, Log, Outcome, Processes, Request


def test_a_request_has_the_variables_of_its_verb_only() -> None:
    """GC has no container; a variable too many hides a plugin that asks for it."""
    request = Request.of("GC", {"name": "n"}, path="/opt/cni/bin")
    assert dict(request.env) == {"CNI_COMMAND": "GC", "CNI_PATH": "/opt/cni/bin"}


def test_variables_can_be_set_and_taken_out() -> None:
    """Cases about bad environments start from a good one."""
    request = Request.of("ADD", {}, container_id="c", netns="/n", ifname="eth0", path="/p")
    bent = request.with_env(CNI_NETNS=None, CNI_ARGS="A=b")
    assert "CNI_NETNS" not in bent.env
    assert bent.env["CNI_ARGS"] == "A=b"
    assert "CNI_NETNS" in request.env


def test_an_error_object_is_understood() -> None:
    """Findings show code and message, not JSON."""
    outcome = Outcome(1, b'{"cniVersion":"1.0.0","code":7,"msg":"no name"}')
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.msg) == (7, "no name")


def test_what_was_cut_is_told_with_its_length() -> None:
    """A plugin that floods is told apart from one that hangs."""
    outcome = Outcome(-9, b"{", b"log", timed_out=True, stdout_bytes=300_000_000, stderr_bytes=3)
    assert outcome.brief() == "no end, stdout { (of 300000000 bytes), stderr log"


def test_two_documents_are_none() -> None:
    """A runtime cannot tell which one holds."""
    with pytest.raises(ShapeError):
        _ = Outcome(0, b"{}{}").document


def test_a_record_has_the_keys_of_a_journal_line() -> None:
    """Reports know one kind of record."""
    record = Exec(
        plugin="/opt/cni/bin/bridge",
        request=Request.of("DEL", {"name": "n"}, container_id="c", ifname="eth0"),
        outcome=Outcome(1, b'{"code":11,"msg":"later"}', b"log"),
    ).to_dict()
    assert record["method"] == "bridge DEL"
    assert record["code"] == "exit 1, code 11"
    assert record["message"] == "later"
    assert record["requests"] == [{"name": "n"}]
    assert record["env"]["CNI_COMMAND"] == "DEL"


@pytest.mark.parametrize(
    ("stdin", "exact"),
    [
        (b'{"a":[1,"b"]}', {}),
        (b'{"a": 1}', {"stdin": '{"a": 1}'}),
        (b'{"a":1,"a":2}', {"stdin": '{"a":1,"a":2}'}),
        (b"{", {"stdin": "{"}),
        (b"\xff", {"stdin": {"bytes": "/w=="}}),
        (b"x" * 30_000, {"stdin_left_out": 30_000}),
    ],
)
def test_a_record_has_all_that_went_in(stdin: bytes, exact: dict[str, Any]) -> None:
    """Where the document does not tell stdin byte for byte, stdin is there as well; and whether
    there was a namespace, and what was odd about the exec."""
    request = Request("ADD", {"CNI_COMMAND": "ADD"}, stdin)
    odd = Conditions(stdout="full", closed=frozenset({2, 0}))
    record = Log().note("p", request, Outcome(0), netns=True, conditions=odd).to_dict()
    assert {key: value for key, value in record.items() if key.startswith("stdin")} == exact
    assert record["netns"] is True
    assert record["conditions"] == {"stdout": "full", "closed": [0, 2]}
    plain = Log().note("p", request, Outcome(0)).to_dict()
    assert (plain["netns"], plain["conditions"]) == (False, {})


@pytest.mark.parametrize("stdin", [b'{"a":"it\'s"}', b"\xff\x00%\\", b""])
def test_the_shell_line_repeats_the_exec(stdin: bytes) -> None:
    """A finding that cannot be repeated is not believed."""
    request = Request("ADD", {"CNI_COMMAND": "ADD", "CNI_ARGS": "A=b c"}, stdin)
    record = Exec(plugin="/bin/cat", request=request, outcome=Processes().run("/bin/cat", request))
    done = subprocess.run(["bash", "-c", record.shell()], capture_output=True, check=True)
    assert done.stdout == stdin


def test_a_log_tells_what_came_after_a_mark() -> None:
    """The judge shows the execs of one case."""
    log = Log()
    request = Request("ADD", {}, b"")
    log.note("a", request, Outcome(0))
    mark = log.seq
    record = log.note("b", request, Outcome(1))
    assert log.since(mark) == [record]
