"""Bends by what they do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conformance.engine import mutants
from conformance.engine.mutants import (
    ANY,
    Mutant,
    Notes,
    after,
    answers,
    argument,
    before,
    chain,
    clears,
    counted,
    does_nothing,
    has,
    lacks,
    mistakes,
    omits,
    refuses,
    returns,
    sets,
    swallows,
    turns,
)
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused


def create(request: pb.CreateVolumeRequest, _call: object = None) -> pb.CreateVolumeResponse:
    """A driver that makes a volume of what it is asked for."""
    if not request.name:
        raise Refused(Code.INVALID_ARGUMENT, "name is empty")
    volume = pb.Volume(volume_id=f"id-{request.name}", volume_context=request.parameters)
    return pb.CreateVolumeResponse(volume=volume)


def call(bend: mutants.Bend, name: str = "a", proceed: Any = create, **fields: Any) -> Any:
    """What becomes of a CreateVolume through the bend."""
    return bend(Mutant(), proceed, pb.CreateVolumeRequest(name=name, **fields), None)


def id_of(bend: mutants.Bend, name: str = "a") -> str:
    """The id of the volume that is made."""
    return str(call(bend, name).volume.volume_id)


def test_the_request_is_changed() -> None:
    """A field is set, made of what it was, or cleared; only when the condition holds."""
    assert id_of(sets("name", "b")) == "id-b"
    assert id_of(sets("name", lambda name: name * 2)) == "id-aa"
    assert id_of(sets("name", mistakes("a", "c"))) == "id-c"
    assert id_of(sets("name", mistakes("b", "c"))) == "id-a"
    assert id_of(sets("name", "b", when=lacks("name"))) == "id-a"
    assert not call(clears("parameters"), parameters={"a": "b"}).volume.volume_context
    assert call(clears("parameters", when=lacks("parameters")), parameters={"a": "b"}).volume
    assert id_of(before(lambda _: pb.CreateVolumeRequest(name="other"))) == "id-other"


def test_a_document_of_a_request_is_not_changed_for_who_asks() -> None:
    """A message was decoded for the fake; a document belongs to the case."""
    document = {"devices": ["a"]}
    reply = sets("devices", lambda all: [*all, "b"])(Mutant(), lambda asked: asked, document)
    assert (reply, document) == ({"devices": ["a", "b"]}, {"devices": ["a"]})


def test_the_reply_is_changed() -> None:
    """The same; the condition is one on the request."""
    assert id_of(answers("volume.volume_id", "b")) == "b"
    assert id_of(answers("volume.volume_id", "b", when=lacks("name"))) == "id-a"
    assert id_of(omits("volume.volume_id", when=has("name"))) == ""
    assert call(after(lambda _: "another")) == "another"


def test_of_a_stream_each_reply_is_changed() -> None:
    """When it comes, not before."""

    def stream(_request: Any, _call: Any) -> Iterator[pb.Volume]:
        yield from (pb.Volume(volume_id=id) for id in "ab")

    replies = call(answers("volume_id", str.upper), proceed=stream)
    assert isinstance(replies, Iterator)
    assert [each.volume_id for each in replies] == ["A", "B"]


def test_any_argument_can_be_changed() -> None:
    """By its place or its name."""

    def add(one: int, two: int, *, three: int = 0) -> tuple[int, int, int]:
        return one, two, three

    assert argument(1, lambda two: two * 2)(None, add, 1, 2) == (1, 4, 0)
    assert argument("three", lambda three: -three)(None, add, 1, 2, three=3) == (1, 2, -3)
    assert argument(1, None)(None, add, 1, 2) == (1, None, 0)
    assert argument(0, lambda _: 9, when=lambda one: one > 1)(None, add, 1, 2) == (1, 2, 0)


@pytest.mark.parametrize(
    ("bend", "code", "message"),
    [
        (turns(Code.INVALID_ARGUMENT, Code.INTERNAL), Code.INTERNAL, "name is empty"),
        (turns(ANY, Code.INTERNAL, "oh"), Code.INTERNAL, "oh"),
        (turns(Code.NOT_FOUND, Code.INTERNAL), Code.INVALID_ARGUMENT, "name is empty"),
        (turns(ANY, Code.INTERNAL, when=has("name")), Code.INVALID_ARGUMENT, "name is empty"),
        (refuses(Code.ABORTED, "busy"), Code.ABORTED, "busy"),
        (refuses(Code.ABORTED, "busy", when=has("name")), Code.INVALID_ARGUMENT, "name is empty"),
    ],
)
def test_a_call_is_refused_otherwise(bend: mutants.Bend, code: Code, message: str) -> None:
    """With another code, or before anybody was asked."""
    with pytest.raises(Refused) as refusal:
        call(bend, name="")
    assert (refusal.value.code, refusal.value.message) == (code, message)


def test_a_refusal_becomes_a_success() -> None:
    """The reply is an empty one of that RPC."""
    assert call(turns(ANY, Code.OK), name="") == pb.CreateVolumeResponse()
    assert id_of(turns(ANY, Code.OK)) == "id-a"


def test_nothing_is_done() -> None:
    """And that is told as a success, or as what is given."""
    assert call(does_nothing()) == pb.CreateVolumeResponse()
    assert id_of(does_nothing(when=lacks("name"))) == "id-a"
    assert does_nothing()(None, create) is None
    assert does_nothing()(None, create, "no message") is None
    assert call(returns("this")) == "this"
    assert call(returns(lambda request: request.name)) == "a"


def test_an_error_is_swallowed() -> None:
    """Those of that kind."""
    assert call(swallows(Refused, "nothing"), name="") == "nothing"
    assert id_of(swallows(Refused)) == "id-a"
    with pytest.raises(Refused):
        call(swallows(OSError), name="")


def test_bends_stand_before_one_another() -> None:
    """The first of them sees the request first and the reply last."""
    both = chain(sets("name", "b"), answers("volume.volume_id", lambda id: f"{id}!"))
    assert id_of(both) == "id-b!"
    assert id_of(chain(sets("name", "b"), sets("name", lambda name: f"{name}c"))) == "id-bc"


def test_a_change_can_count() -> None:
    """From 0 on."""
    bend = sets("name", counted(lambda name, number: f"{name}{number}"))
    assert [id_of(bend) for _ in range(3)] == ["id-a0", "id-a1", "id-a2"]


class Remembers(Mutant):
    """A name can be used once, until it is given back."""

    used = Notes("name")
    CreateVolume = chain(refuses(Code.ALREADY_EXISTS, "used", when=used.has()), used.adds())
    DeleteVolume = used.drops("volume_id")
    ListVolumes = refuses(Code.NOT_FOUND, "unknown", when=used.lacks("starting_token"))


def test_a_mutant_remembers() -> None:
    """For itself: the next one of its kind knows nothing of it."""
    mutant: Any = Remembers()
    request = pb.CreateVolumeRequest(name="a")
    mutant.CreateVolume(create, request, None)
    with pytest.raises(Refused, match="used"):
        mutant.CreateVolume(create, request, None)
    other: Any = Remembers()
    other.CreateVolume(create, request, None)
    mutant.DeleteVolume(lambda *_: None, pb.DeleteVolumeRequest(volume_id="a"), None)
    mutant.CreateVolume(create, request, None)


def test_what_is_not_noted_can_be_missed() -> None:
    """A request that names nothing is another matter."""
    mutant: Any = Remembers()
    listing = pb.ListVolumesRequest(starting_token="a")
    with pytest.raises(Refused, match="unknown"):
        mutant.ListVolumes(lambda *_: "listed", listing, None)
    assert mutant.ListVolumes(lambda *_: "listed", pb.ListVolumesRequest(), None) == "listed"
    mutant.CreateVolume(create, pb.CreateVolumeRequest(name="a"), None)
    assert mutant.ListVolumes(lambda *_: "listed", listing, None) == "listed"


def test_a_call_that_fails_is_not_noted() -> None:
    """Several paths make one note, and a reply can be noted as well."""

    class Notices(Mutant):
        pairs, made = Notes("name", "parameters"), Notes()
        CreateVolume = chain(made.adds("volume.volume_id", reply=True), Notes("name").adds())

    mutant: Any = Notices()
    with pytest.raises(Refused):
        mutant.CreateVolume(create, pb.CreateVolumeRequest(), None)
    assert Notices.made.of(mutant) == set()
    mutant.CreateVolume(create, pb.CreateVolumeRequest(name="a"), None)
    assert Notices.made.of(mutant) == {"id-a"}
    assert Notices.pairs.value(pb.Volume(volume_id="v"), "volume_id", "capacity_bytes") == ("v", 0)
