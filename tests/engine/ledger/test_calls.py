"""Calls that have made something."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from conformance.csi.undo import REQUESTS, TABLE
from conformance.engine.ledger.calls import CallLedger, Made
from conformance.engine.ledger.entries import Ledger, left
from conformance.engine.ledger.file import in_use
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

CREATE, DELETE = "/csi.v1.Controller/CreateVolume", "/csi.v1.Controller/DeleteVolume"
PUBLISH = "/csi.v1.Node/NodePublishVolume"


def opened(path: Path | None = None) -> CallLedger:
    return CallLedger(Ledger(path), TABLE, REQUESTS)


def recorded(path: Path) -> list[Made]:
    """What a killed run left."""
    return [opened().read(entry) for entry in left(path)]


def _created(id: str) -> pb.CreateVolumeResponse:
    return pb.CreateVolumeResponse(volume=pb.Volume(volume_id=id))


def _create(book: CallLedger, name: str = "a", id: str = "1") -> None:
    request = pb.CreateVolumeRequest(name=name, secrets={"key": "hidden"})
    book.perform(CREATE, request, lambda _: _created(id))


def _refuse(code: Code) -> Any:
    def call(_: Any) -> NoReturn:
        raise Refused(code, "no")

    return call


def test_what_was_made_is_open_until_it_is_undone() -> None:
    """The delete may come from the case itself."""
    book = opened()
    _create(book)
    assert [call.method for call in book.open_calls()] == [CREATE]
    book.perform(DELETE, pb.DeleteVolumeRequest(volume_id="1"), lambda _: None)
    assert not book.open_calls()


def test_an_undo_with_secrets_counts_like_one_without() -> None:
    """Secrets say who asks, not what is meant."""
    book = opened()
    _create(book)
    request = pb.DeleteVolumeRequest(volume_id="1", secrets={"key": "hidden"})
    book.perform(DELETE, request, lambda _: None)
    assert not book.open_calls()


def test_repeats_of_one_call_are_undone_once() -> None:
    """Idempotency cases would clean up ten times otherwise."""
    book = opened()
    _create(book)
    _create(book)
    _create(book, "b", "2")
    assert len(book.open_calls()) == 2


def test_a_refused_call_made_nothing() -> None:
    """There is nothing to delete."""
    book = opened()
    with pytest.raises(Refused):
        book.perform(CREATE, pb.CreateVolumeRequest(name="a"), _refuse(Code.OUT_OF_RANGE))
    assert not book.open_calls()


def test_a_call_without_an_answer_may_have_made_something() -> None:
    """It is the reason why a sweep repeats creates."""
    book = opened()
    with pytest.raises(Refused):
        book.perform(CREATE, pb.CreateVolumeRequest(name="a"), _refuse(Code.DEADLINE_EXCEEDED))
    assert [call.reply for call in book.open_calls()] == [None]


def test_the_newest_is_undone_first() -> None:
    """Unpublish before delete."""
    book = opened()
    _create(book)
    request = pb.NodePublishVolumeRequest(volume_id="1", target_path="/t")
    book.perform(PUBLISH, request, lambda _: pb.NodePublishVolumeResponse())
    assert [call.method for call in book.open_calls()] == [PUBLISH, CREATE]


def test_a_repeat_keeps_the_place_of_the_first_call() -> None:
    """A volume created again while it is published is still deleted last."""
    book = opened()
    _create(book)
    request = pb.NodePublishVolumeRequest(volume_id="1", target_path="/t")
    book.perform(PUBLISH, request, lambda _: pb.NodePublishVolumeResponse())
    _create(book)
    assert [call.method for call in book.open_calls()] == [PUBLISH, CREATE]


def test_the_file_of_a_killed_run_tells_what_is_left(tmp_path: Path) -> None:
    """Requests and replies, without secrets."""
    path = tmp_path / "ledger.jsonl"
    book = opened(path)
    _create(book, "a", "1")
    _create(book, "b", "2")
    book.perform(DELETE, pb.DeleteVolumeRequest(volume_id="1"), lambda _: None)
    made_calls = recorded(path)
    book.ledger.close()
    assert [call.request for call in made_calls] == [pb.CreateVolumeRequest(name="b")]
    assert [call.reply for call in made_calls] == [_created("2")]
    assert "hidden" not in path.read_text()


def test_the_intention_is_written_before_the_call(tmp_path: Path) -> None:
    """A kill in the middle of a call loses nothing."""
    path = tmp_path / "ledger.jsonl"
    seen: list[int] = []
    book = opened(path)

    def create(_: object) -> pb.CreateVolumeResponse:
        seen.append(len(recorded(path)))
        return _created("1")

    book.perform(CREATE, pb.CreateVolumeRequest(name="a"), create)
    book.ledger.close()
    assert seen == [1]


def test_a_torn_last_line_is_a_call_never_made(tmp_path: Path) -> None:
    """The line is whole before the call begins."""
    path = tmp_path / "ledger.jsonl"
    book = opened(path)
    _create(book)
    book.ledger.close()
    with path.open("a") as file:
        file.write('{"n": 1, "met')
    assert len(recorded(path)) == 1


def test_whoever_undoes_calls_is_told_before_each_is_made() -> None:
    """Also of one that is refused then, which is not open any more."""
    begun: list[Made] = []
    book = CallLedger(Ledger(), TABLE, REQUESTS, begun.append)
    with pytest.raises(Refused):
        book.perform(CREATE, pb.CreateVolumeRequest(name="a"), _refuse(Code.INTERNAL))
    _create(book)
    book.perform(DELETE, pb.DeleteVolumeRequest(volume_id="none"), lambda _: None)
    assert [book.is_open(made) for made in begun] == [False, True]


def test_the_ledger_of_a_run_that_is_still_going_is_in_use(tmp_path: Path) -> None:
    """Sweeping it would take its volumes from under it."""
    path = tmp_path / "ledger.jsonl"
    book = opened(path)
    _create(book)
    assert in_use(path)
    book.ledger.close()
    assert not in_use(path)


def test_the_file_goes_when_nothing_is_left(tmp_path: Path) -> None:
    """A clean run leaves nothing to sweep."""
    path = tmp_path / "ledger.jsonl"
    book = opened(path)
    _create(book)
    book.forget(book.open_calls()[0])
    book.ledger.close()
    assert not path.exists()
