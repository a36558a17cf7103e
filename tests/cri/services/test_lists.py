"""Lists as streams over the socket."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from tests.cri.runtime_rig import RuntimeRig, container_config


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
