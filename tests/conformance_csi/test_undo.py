"""How what a case made is taken away again."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import Message

from conformance.csi import undo
from conformance.engine.ledger.calls import Made
from conformance.engine.ledger.entries import CALL, LedgerEntry
from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

CREATE = "/csi.v1.Controller/CreateVolume"
PUBLISH = "/csi.v1.Node/NodePublishVolume"
CREATED = pb.CreateVolumeResponse(volume=pb.Volume(volume_id="v"))


class Driver:
    """Answers with what it is given, and remembers what it was asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers, self.asked = answers, list[tuple[str, Message]]()

    def __call__(self, method: str, request: Message) -> Any:
        rpc = method.rpartition("/")[2]
        self.asked.append((rpc, request))
        answer = self.answers.get(rpc)
        if isinstance(answer, Code):
            raise Refused(answer, "no")
        return answer


def made_by(method: str, request: Any, reply: Any = None) -> Made:
    """A call on a ledger."""
    return Made(LedgerEntry(0, CALL, method), request, reply)


def test_every_call_that_makes_something_has_its_request_and_an_inverse() -> None:
    """The sweep reads both from a file."""
    assert set(undo.REQUESTS) == set(undo.TABLE)
    services = {method.rpartition("/")[0] for method in undo.TABLE}
    assert {how.inverse.rpartition("/")[0] for how in undo.TABLE.values()} == services


@pytest.mark.parametrize("method", list(undo.TABLE))
def test_the_inverse_of_empty_messages_can_be_built(method: str) -> None:
    """Drivers answer anything; no answer may break the cleaning up."""
    how = undo.TABLE[method]
    built = how.build(undo.REQUESTS[method](), how.reply())
    assert isinstance(built, Message)


def test_an_inverse_names_what_was_made() -> None:
    """By the reply where only that tells."""
    driver = Driver()
    undo.undo(made_by(CREATE, pb.CreateVolumeRequest(name="a"), CREATED), driver)
    assert driver.asked == [("DeleteVolume", pb.DeleteVolumeRequest(volume_id="v"))]
    request = pb.NodePublishVolumeRequest(volume_id="v", target_path="/t", readonly=True)
    driver = Driver()
    undo.undo(made_by(PUBLISH, request), driver)
    wanted = pb.NodeUnpublishVolumeRequest(volume_id="v", target_path="/t")
    assert driver.asked == [("NodeUnpublishVolume", wanted)]


def test_a_group_is_undone_with_its_members() -> None:
    """CSI wants all snapshot ids in DeleteVolumeGroupSnapshot."""
    method = "/csi.v1.GroupController/CreateVolumeGroupSnapshot"
    reply = pb.CreateVolumeGroupSnapshotResponse()
    reply.group_snapshot.group_snapshot_id = "g"
    for id in ("1", "2"):
        reply.group_snapshot.snapshots.add(snapshot_id=id)
    driver = Driver()
    undo.undo(made_by(method, pb.CreateVolumeGroupSnapshotRequest(), reply), driver)
    ((_, sent),) = driver.asked
    assert sent == pb.DeleteVolumeGroupSnapshotRequest(
        group_snapshot_id="g", snapshot_ids=["1", "2"]
    )


def test_a_create_without_an_answer_is_repeated_to_learn_its_id() -> None:
    """CSI creates are idempotent by name."""
    driver = Driver(CreateVolume=CREATED)
    create = made_by(CREATE, pb.CreateVolumeRequest(name="a"))
    undo.undo(create, driver)
    assert [rpc for rpc, _ in driver.asked] == ["CreateVolume", "DeleteVolume"]
    assert create.reply == CREATED


@pytest.mark.parametrize("code", [Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE, Code.NOT_FOUND])
def test_a_create_that_is_refused_on_repeating_made_nothing(code: Code) -> None:
    """There is nothing to delete."""
    driver = Driver(CreateVolume=code)
    undo.undo(made_by(CREATE, pb.CreateVolumeRequest(name="a")), driver)
    assert [rpc for rpc, _ in driver.asked] == ["CreateVolume"]


@pytest.mark.parametrize("code", [Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.ABORTED])
def test_a_create_that_nobody_answers_may_have_made_something(code: Code) -> None:
    """It stays on the ledger, and says which call got no answer."""
    with pytest.raises(Broken, match=f"CreateVolume answers OK\n.*{code.name}"):
        undo.undo(made_by(CREATE, pb.CreateVolumeRequest(name="a")), Driver(CreateVolume=code))


def test_what_is_gone_already_is_undone() -> None:
    """Some drivers say NOT_FOUND on deleting twice; another case judges that."""
    driver = Driver(DeleteVolume=Code.NOT_FOUND)
    undo.undo(made_by(CREATE, pb.CreateVolumeRequest(name="a"), CREATED), driver)
    assert len(driver.asked) == 1
