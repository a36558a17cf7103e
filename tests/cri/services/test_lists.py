"""Lists as streams over the socket."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state.models import ContainerKey, NewContainer
from tests.cri.runtime_rig import IMAGE, RuntimeRig, container_config


def test_streams_are_cut_by_number_and_by_bytes(rig: RuntimeRig) -> None:
    """CRI-LS: no message is empty, none is too long, and all together are the list."""
    sandbox = rig.sandbox()
    for number in range(5):
        rig.create(sandbox, container_config(f"c{number}", annotations={"a": "x" * (1 << 20)}))
    replies = [*rig.runtime.StreamContainers(pb.StreamContainersRequest())]
    assert [len(reply.containers) for reply in replies] == [1] * 5
    (images,) = rig.images.StreamImages(pb.StreamImagesRequest())
    assert len(images.images) == 1
    for sandboxes in rig.runtime.StreamPodSandboxes(pb.StreamPodSandboxesRequest()):
        assert [each.id for each in sandboxes.pod_sandboxes] == [sandbox]
    assert [*rig.runtime.StreamContainerStats(pb.StreamContainerStatsRequest())] == []


def test_ten_thousand_containers_are_listed_whole(rig: RuntimeRig) -> None:
    """As one reply, which kubelet and crictl take up to 16 MiB, and as streams."""
    sandbox, made, config = rig.sandbox(), rig.fake.state.containers.create, container_config()
    ids = {
        made(
            NewContainer(
                sandbox_id=sandbox, key=ContainerKey(f"c{number}"), image=IMAGE, config=config
            )
        ).id
        for number in range(10_000)
    }
    listed = rig.runtime.ListContainers(pb.ListContainersRequest())
    assert {each.id for each in listed.containers} == ids
    assert listed.ByteSize() < 16 << 20
    replies = [*rig.runtime.StreamContainers(pb.StreamContainersRequest())]
    streamed = [each.id for reply in replies for each in reply.containers]
    assert (len(streamed), {*streamed}) == (10_000, ids)
    only = pb.ContainerFilter(id=streamed[0])
    found = rig.runtime.ListContainers(pb.ListContainersRequest(filter=only)).containers
    assert [each.id for each in found] == [streamed[0]]
