"""A call of the journal fits on one line and keeps its status."""

import pytest

from conformance.engine.reports.calls import Call

ENTRY = {
    "method": "/csi.v1.Controller/CreateVolume",
    "requests": [{"name": "pvc-1", "capacity_range": {"required_bytes": 1}}],
    "replies": [{"volume": {"volume_id": "vol-1"}}],
    "code": "OK",
    "message": "",
    "fault": None,
    "duration_s": 0.012,
}


def test_a_whole_entry_shows_request_reply_and_time() -> None:
    """What was asked and answered is what a finding is about."""
    assert Call.of(ENTRY).line(200) == (
        'CreateVolume(name: "pvc-1", capacity_range: {required_bytes: 1}) -> '
        'OK volume: {volume_id: "vol-1"} (12 ms)'
    )


def test_the_brief_entry_of_a_passed_case_shows_its_status() -> None:
    """The stream keeps name and status only of what passed."""
    assert Call.of({"rpc": "Probe", "code": "OK"}).line(80) == "Probe() -> OK"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_refusal_keeps_its_status_however_long_the_request(width: int) -> None:
    """The status is what the case judged."""
    entry = ENTRY | {
        "requests": [{"name": "x" * 5000}],
        "replies": [],
        "code": "INVALID_ARGUMENT",
        "message": "name " * 500,
        "fault": "r1",
    }
    line = Call.of(entry).line(width)
    assert "-> INVALID_ARG" in line
    assert len(line) <= width


def test_a_stream_of_messages_is_a_list() -> None:
    """One message of a unary call stands for itself, several are a stream's."""
    call = Call.of(ENTRY | {"replies": [{"a": 1}, {"a": 2}], "requests": []})
    assert (call.request, call.reply) == (None, [{"a": 1}, {"a": 2}])


def test_an_acting_fault_is_named() -> None:
    """A finding that a fault rule provoked must not look like the target's own idea."""
    assert "[fault r1]" in Call.of(ENTRY | {"fault": "r1"}).line(200)
