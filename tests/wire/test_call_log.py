"""Records of calls."""

from __future__ import annotations

from dataclasses import dataclass

from refimpl.wire.call_log import CallLog


@dataclass
class Call:
    """A record."""

    name: str
    seq: int = 0


def test_records_are_numbered_and_found_by_their_numbers() -> None:
    """From a place in the log on."""
    log: CallLog[Call] = CallLog()
    assert log.seq == 0
    for name in "abc":
        assert log.add(Call(name)).name == name
    assert [call.seq for call in log.entries] == [1, 2, 3]
    assert log.seq == 3
    assert [call.name for call in log.since(1)] == ["b", "c"]
    assert log.since(3) == []


def test_the_oldest_are_forgotten_and_numbers_go_on() -> None:
    """A run makes more calls than memory should hold."""
    log: CallLog[Call] = CallLog(keep=2)
    for name in "abc":
        log.add(Call(name))
    assert [(call.name, call.seq) for call in log.entries] == [("b", 2), ("c", 3)]
    assert [call.name for call in log.since(0)] == ["b", "c"]
