"""With which scope the calls of a case are undone."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import Message

from conformance.csi.cleanup import CleanUp
from conformance.engine.ledger.entries import Ledger
from conformance.engine.scope import CaseScope
from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

CREATE = "/csi.v1.Controller/CreateVolume"
PUBLISH = "/csi.v1.Node/NodePublishVolume"


class Driver:
    """Remembers what is undone, and refuses the RPCs in `stubborn`."""

    def __init__(self) -> None:
        self.undone: list[str] = []
        self.stubborn: set[str] = set()
        self.cleanup = CleanUp(Ledger(), self.call)

    def call(self, method: str, request: Message) -> None:
        rpc = method.rpartition("/")[2]
        self.undone.append(f"{rpc} {getattr(request, 'volume_id', '')}")
        if rpc in self.stubborn:
            raise Refused(Code.INTERNAL, "no")

    def create(self, id: str) -> None:
        """A volume of that id."""
        reply = pb.CreateVolumeResponse(volume=pb.Volume(volume_id=id))
        self.cleanup.calls.perform(CREATE, pb.CreateVolumeRequest(name=id), lambda _: reply)

    def publish(self, id: str) -> None:
        """A volume on the node."""
        request = pb.NodePublishVolumeRequest(volume_id=id, target_path="/t")
        self.cleanup.calls.perform(PUBLISH, request, lambda _: pb.NodePublishVolumeResponse())


@pytest.fixture
def driver() -> Driver:
    """A driver that lets go of everything."""
    return Driver()


def test_a_case_ends_with_what_it_made_the_newest_first(driver: Driver) -> None:
    """With whatever else belongs to its scope in between."""
    driver.create("a")
    driver.cleanup.scope.callback(lambda: driver.undone.append("the path is removed"))
    driver.publish("a")
    driver.cleanup.scope.close()
    assert driver.undone == ["NodeUnpublishVolume a", "the path is removed", "DeleteVolume a"]
    assert not driver.cleanup.calls.open_calls()


def test_a_refusal_does_not_keep_the_others_from_being_undone(driver: Driver) -> None:
    """It is told of its case, and of no case after it; at the end it is tried once more."""
    driver.create("a")
    driver.publish("a")
    driver.create("b")
    driver.stubborn.add("NodeUnpublishVolume")
    first = driver.cleanup.scope
    with pytest.raises(Broken, match="what NodePublishVolume made can be removed again"):
        first.close()
    assert first.failed
    assert driver.undone == ["DeleteVolume b", "NodeUnpublishVolume a", "DeleteVolume a"]
    driver.cleanup.scope = CaseScope()
    driver.cleanup.scope.close()
    assert len(driver.undone) == 3
    driver.stubborn.clear()
    driver.cleanup.close()
    assert driver.undone[3:] == ["NodeUnpublishVolume a"]
    assert not driver.cleanup.calls.open_calls()


def test_a_create_that_nobody_answers_is_repeated_once(driver: Driver) -> None:
    """The repeat makes nothing that would have to be undone in turn, and so on for ever."""

    def unanswered(_: object) -> None:
        raise Refused(Code.UNAVAILABLE, "nobody there")

    def call(method: str, request: Message) -> None:
        driver.undone.append(method.rpartition("/")[2])
        driver.cleanup.calls.perform(method, request, unanswered)

    driver.cleanup = CleanUp(Ledger(), call)
    with pytest.raises(Refused):
        driver.cleanup.calls.perform(CREATE, pb.CreateVolumeRequest(name="a"), unanswered)
    with pytest.raises(Broken, match="CreateVolume answers OK"):
        driver.cleanup.scope.close()
    assert driver.undone == ["CreateVolume"]


def test_a_trial_is_undone_at_once_and_without_a_finding(driver: Driver) -> None:
    """What a case has made before stays until that ends."""
    driver.create("a")
    driver.stubborn.add("DeleteVolume")
    with driver.cleanup.trial():
        driver.create("b")
    assert driver.undone == ["DeleteVolume b"]
    driver.stubborn.clear()
    driver.cleanup.scope.close()
    assert driver.undone == ["DeleteVolume b", "DeleteVolume a"]


def test_what_a_case_has_undone_itself_is_left_alone(driver: Driver) -> None:
    """No call is made twice."""
    driver.create("a")
    delete: Any = pb.DeleteVolumeRequest(volume_id="a")
    driver.cleanup.calls.perform("/csi.v1.Controller/DeleteVolume", delete, lambda _: None)
    driver.cleanup.scope.close()
    assert driver.undone == []
