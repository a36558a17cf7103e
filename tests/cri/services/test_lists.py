"""Items that are kept as bytes say what the messages say."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.codec import containers, sandboxes
from tests.cri.runtime_rig import RuntimeRig, container_config


def test_a_list_has_the_state_of_now_and_all_else_as_it_was_sent(rig: RuntimeRig) -> None:
    sandbox = rig.sandbox()
    ids = [rig.create(sandbox, container_config(f"c{number}")) for number in range(3)]
    for id in ids[1:]:
        rig.cri.start_container(id)
    rig.cri.stop_container(ids[2], 0)
    for _ in range(2):
        states = [each.state for each in rig.cri.list_containers()]
        assert states == [pb.CONTAINER_CREATED, pb.CONTAINER_RUNNING, pb.CONTAINER_EXITED]
        known = rig.fake.state.containers.select()
        assert list(rig.cri.list_containers()) == [containers.item(each) for each in known]
    rig.cri.stop_pod_sandbox(sandbox)
    (listed,) = rig.cri.list_pod_sandboxes()
    assert listed.state == pb.SANDBOX_NOTREADY
    assert listed == sandboxes.item(rig.fake.state.sandboxes.select()[0])


def test_containers_of_one_sandbox_are_found_by_it_alone(rig: RuntimeRig) -> None:
    one = rig.sandbox()
    request = pb.ListContainersRequest(filter=pb.ContainerFilter(pod_sandbox_id=one))
    assert not rig.cri.runtime.ListContainers(request).containers
    id = rig.create(one, container_config("c"))
    listed = rig.cri.runtime.ListContainers(request).containers
    assert [each.id for each in listed] == [id]
