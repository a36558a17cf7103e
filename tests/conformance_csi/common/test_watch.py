"""What holds for every answer, as functions of journal entries."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import Message

from conformance.csi.common import watch
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.journal import Entry
from refimpl.wire.status import Code

CODES = [Code.OK, Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.UNKNOWN, Code.INTERNAL]


def answered(reply: Message, request: Message | None = None, rpc: str = "ListVolumes") -> Entry:
    """A call that went through."""
    entry = Entry(method=f"/csi.v1.Controller/{rpc}", side="client", reply_type=type(reply))
    entry.replies_are(reply.SerializeToString())
    if request is not None:
        entry.request_type = type(request)
        entry.requests_are(request.SerializeToString())
    return entry


def refused(code: Code, message: str = "why", details: bytes = b"") -> Entry:
    """A call that was refused."""
    method = "/csi.v1.Controller/CreateVolume"
    return Entry(method=method, side="client", code=code, message=message, details=details)


def test_good_answers_have_no_fault() -> None:
    """Neither of a call that went through nor of a refusal."""
    rules = (
        watch.details,
        watch.message,
        watch.code,
        watch.sizes,
        watch.texts,
        watch.enums,
        watch.removed,
    )
    listed = pb.ListVolumesResponse()
    listed.entries.add().volume.volume_id = "v"
    for entry in (answered(listed), refused(Code.NOT_FOUND, "volume größe:\n\tno such volume")):
        assert [line for rule in rules for line in rule(entry)] == []


@pytest.mark.parametrize("code", CODES)
def test_vague_codes_are_told_with_their_message(code: Code) -> None:
    """UNKNOWN and INTERNAL, nothing else."""
    vague = ["CreateVolume was refused with " + code.name + ": why"]
    assert watch.code(refused(code)) == (vague if code in (Code.UNKNOWN, Code.INTERNAL) else [])


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("", "without a message"),
        (" \n", "without a message"),
        ("bell \x07", "with control characters in its message: 'bell \\x07'"),
        ("\x1b[31mred", "with control characters in its message: '\\x1b[31mred'"),
    ],
)
def test_a_refusal_needs_words_that_can_be_shown(message: str, fault: str) -> None:
    """On a terminal and in an event of Kubernetes."""
    problems = watch.message(refused(Code.NOT_FOUND, message))
    assert problems == [f"CreateVolume was refused with NOT_FOUND {fault}"]


def test_details_are_counted() -> None:
    """google.rpc.Status: code, message, and field 3 for each detail."""
    plain = b"\x08\x05\x12\x03why"
    assert watch.details(refused(Code.NOT_FOUND, details=plain)) == []
    more = plain + b"\x1a\x00" * 2
    assert watch.details(refused(Code.NOT_FOUND, details=more)) == [
        "CreateVolume was refused with NOT_FOUND with 2 details"
    ]
    assert "no google.rpc.Status" in watch.details(refused(Code.NOT_FOUND, details=b"\xff"))[0]


def test_an_enum_that_was_not_set_is_told_once() -> None:
    """However many entries have it."""
    reply = pb.ControllerGetCapabilitiesResponse()
    for _ in range(3):
        reply.capabilities.add().rpc.SetInParent()
    problems = watch.enums(answered(reply, rpc="ControllerGetCapabilities"))
    problem = "csi.v1.ControllerServiceCapability.RPC.type = 0"
    assert problems == [f"ControllerGetCapabilities answered with {problem}"]
    reply.ClearField("capabilities")
    reply.capabilities.add().rpc.type = 1
    assert watch.enums(answered(reply)) == []


@pytest.mark.parametrize(
    ("rpc", "reply"),
    [
        ("NodeGetCapabilities", pb.NodeGetCapabilitiesResponse()),
        ("GetPluginCapabilities", pb.GetPluginCapabilitiesResponse()),
    ],
)
def test_a_list_with_a_case_of_its_own_is_left_to_that_case(rpc: str, reply: Message) -> None:
    """One cause is one finding: CSI-NODE-001 and CSI-ID-006 look at each entry."""
    entry: Any = reply.capabilities.add()  # type: ignore[attr-defined]
    getattr(entry, "rpc" if rpc.startswith("Node") else "service").SetInParent()
    assert watch.enums(answered(reply, rpc=rpc)) == []


def test_a_condition_is_gone_since_1_13() -> None:
    """Where it is set at all, even if it says nothing."""
    reply = pb.ListVolumesResponse()
    reply.entries.add().status.SetInParent()
    assert watch.removed(answered(reply)) == []
    reply.entries.add().status.volume_condition.SetInParent()
    assert watch.removed(answered(reply)) == [
        "ListVolumes answered with csi.v1.ListVolumesResponse.VolumeStatus.volume_condition"
    ]


def test_a_field_that_is_too_long_is_told_unless_it_echoes_the_request() -> None:
    """A driver that gives back what it was sent is not the one to blame."""
    reply = pb.CreateVolumeResponse(volume=pb.Volume(volume_id="x" * 129))
    (problem,) = watch.sizes(answered(reply))
    assert "csi.v1.Volume.volume_id of 129 bytes" in problem
    assert watch.texts(answered(reply)) == []
    long = pb.CreateVolumeRequest(name="x" * 129)
    assert watch.sizes(answered(reply, long)) == []
    assert watch.sizes(answered(reply, pb.CreateVolumeRequest(name="x"))) == [problem]


def test_debatable_lengths_are_told_apart() -> None:
    """A long value of a map: the table can be read both ways."""
    reply = pb.CreateVolumeResponse(volume=pb.Volume(volume_context={"k": "x" * 200}))
    assert watch.sizes(answered(reply)) == []
    assert len(watch.texts(answered(reply))) == 1
