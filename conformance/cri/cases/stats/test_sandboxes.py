"""Statistics of sandboxes and of images."""

from __future__ import annotations

from pathlib import Path

from conformance.cri.needs import IMAGE, POD_NETWORK
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code

_LABEL = "refimpl.example/stats"


@case("CRI-ST-010", "CRI v1 LinuxPodSandboxStats", needs=[IMAGE, POD_NETWORK])
def test_a_pod_has_a_network_processes_and_its_containers(cri: CriTarget) -> None:
    """kubectl top shows them."""
    pod = cri.pods.run(host_network=False)
    container = pod.run()
    request = pb.PodSandboxStatsRequest(pod_sandbox_id=pod.id)

    def stats() -> pb.PodSandboxStats:
        return cri.runtime.PodSandboxStats(request).stats

    eventually(lambda: stats().linux.process.process_count.value, 20.0, "processes are counted")
    got = stats()
    expect(got.attributes.id == pod.id, "attributes are those of the pod", wanted=pod.id, got=got)
    name = got.linux.network.default_interface.name
    expect(name, "the default interface has a name", wanted="a name", got=got.linux.network)
    ids = [each.attributes.id for each in got.linux.containers]
    expect(ids == [container.id], "its containers are in it", wanted=[container.id], got=ids)


@case("CRI-ST-011", "CRI v1 PodSandboxStats")
def test_an_unknown_sandbox_has_no_statistics(cri: CriTarget) -> None:
    """Zeros would be taken for a pod that does nothing."""
    request = pb.PodSandboxStatsRequest(pod_sandbox_id=cri.pods.unknown_id())
    expect_refusal(
        lambda: cri.runtime.PodSandboxStats(request), "it is refused", preferred={Code.NOT_FOUND}
    )


@case("CRI-ST-012", "kubelet asks for all at once", needs=[IMAGE])
def test_a_stopped_pod_does_not_spoil_the_list(cri: CriTarget) -> None:
    """All other pods would have no statistics."""
    configs = [cri.pods.config(labels={_LABEL: cri.pods.unknown_id()}) for _ in range(2)]
    for config in configs:
        config.labels[_LABEL] = configs[0].labels[_LABEL]
    ready, stopped = (cri.pods.ask(config) for config in configs)
    ready.run()
    stopped.stop()
    wanted = pb.PodSandboxStatsFilter(label_selector=configs[0].labels)
    reply = cri.runtime.ListPodSandboxStats(pb.ListPodSandboxStatsRequest(filter=wanted))
    ids = {each.attributes.id for each in reply.stats}
    expect(
        {ready.id} <= ids <= {ready.id, stopped.id},
        "the pod that is ready is there, and none that the filter leaves out",
        wanted=ready.id,
        got=sorted(ids),
    )


@case("CRI-ST-017", "CRI v1 ImageFsInfo; kubelet looks the path up")
def test_images_lie_on_a_file_system_that_exists(cri: CriTarget) -> None:
    """Kubelet collects garbage by how full it is."""
    systems = cri.images.ImageFsInfo(pb.ImageFsInfoRequest()).image_filesystems
    expect(systems, "one is told at least", wanted="one", got="none")
    for each in systems:
        expect(each.timestamp > 0, "it has a time", wanted="> 0", got=each)
        path = each.fs_id.mountpoint
        expect(path and Path(path).exists(), "its path exists", wanted="a folder", got=each)
