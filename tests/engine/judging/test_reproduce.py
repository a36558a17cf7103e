"""The line that repeats a call without us."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.judging import reproduce
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry

PROTO = "refimpl/csi/api/csi.proto"


def words(*requests: pb.CreateVolumeRequest, at: str = "unix:///run/a b.sock") -> list[str]:
    """The line for a CreateVolume, as a shell takes it apart."""
    entry = Entry(method="/csi.v1.Controller/CreateVolume", side="client")
    entry.request_type = pb.CreateVolumeRequest
    entry.requests_are(*(request.SerializeToString() for request in requests))
    return shlex.split(reproduce.grpcurl(entry, Endpoint.parse(at), PROTO))


def option(line: list[str], name: str) -> str:
    """The value of an option of the line."""
    return line[line.index(name) + 1]


def test_a_shell_gets_back_what_was_sent() -> None:
    """Quotes and blanks included."""
    name = 'it\'s "größe" $HOME `x` \\ 体'
    line = words(pb.CreateVolumeRequest(name=name))
    assert line[0] == "grpcurl"
    assert line[-1] == "csi.v1.Controller/CreateVolume"
    assert option(line, "-unix") == "/run/a b.sock"
    assert json.loads(option(line, "-d")) == {"name": name}


def test_the_schema_it_names_is_there() -> None:
    """In a checkout and in an installed package alike."""
    line = words(pb.CreateVolumeRequest())
    assert (Path(option(line, "-import-path")) / option(line, "-proto")).is_file()


def test_secrets_stay_out() -> None:
    """The line ends up in reports that everybody reads."""
    text = " ".join(words(pb.CreateVolumeRequest(name="a", secrets={"token": "canary"})))
    assert "canary" not in text
    assert "token" in text


@pytest.mark.parametrize(
    ("at", "shown"),
    [("tcp://127.0.0.1:9000", "127.0.0.1:9000"), ("tcp://[::1]:9000", "[::1]:9000")],
)
def test_an_address_is_one_that_grpcurl_takes(at: str, shown: str) -> None:
    """host:port, without our scheme; a call that sent nothing sends nothing."""
    line = words(at=at)
    assert line[-2] == shown
    assert option(line, "-d") == "{}"


REQUESTS = [
    (pb.CreateVolumeRequest(name="refimpl-r4-v2", parameters={"zone": "a"}), False),
    (pb.CreateVolumeRequest(name="refimpl-r4-v1"), True),
    (pb.DeleteVolumeRequest(volume_id="vol-2"), False),
    (pb.DeleteVolumeRequest(volume_id="vol-1"), True),
    (pb.DeleteVolumeRequest(volume_id="vol-2", secrets={"key": "word"}), True),
    (pb.NodeUnpublishVolumeRequest(volume_id="vol-2", target_path="/tmp/x/refimpl-r4-d1"), True),
]


def entry(request: Any, reply: Any = None) -> Entry:
    """A call on record."""
    call = Entry(method="/csi.v1.Controller/X", request_type=type(request), reply_type=type(reply))
    call.requests_are(request.SerializeToString())
    if reply is not None:
        call.replies_are(reply.SerializeToString())
    return call


@pytest.mark.parametrize(("request_", "gone"), REQUESTS)
def test_what_a_call_depends_on(request_: Any, gone: bool) -> None:
    """A volume that was made, by id or by name, a path of the run, a secret."""
    volume = pb.Volume(volume_id="vol-1", volume_context={"zone": "a"})
    create = entry(
        pb.CreateVolumeRequest(name="refimpl-r4-v1"), pb.CreateVolumeResponse(volume=volume)
    )
    assert reproduce.depends(entry(request_), [create], "r4") == gone
