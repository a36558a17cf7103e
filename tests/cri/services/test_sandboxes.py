"""Sandboxes over the socket."""

from __future__ import annotations

import json

from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith
from tests.cri.runtime_rig import RuntimeRig, sandbox_config


def listed(rig: RuntimeRig, **wanted: object) -> list[str]:
    """Ids of the sandboxes that a filter fits."""
    asked = pb.ListPodSandboxRequest(filter=pb.PodSandboxFilter(**wanted))  # type: ignore[arg-type]
    return [each.id for each in rig.runtime.ListPodSandbox(asked).items]


def test_status_and_list_give_back_what_was_sent(rig: RuntimeRig) -> None:
    """CRI-SB-010, 011: annotations to the byte; kubelet finds its pods by the labels."""
    notes = {"a": "", "b": "ü\n" * 100}
    config = sandbox_config(annotations=notes)
    asked = pb.RunPodSandboxRequest(config=config, runtime_handler="other")
    made = rig.runtime.RunPodSandbox(asked).pod_sandbox_id
    told = rig.runtime.PodSandboxStatus(pb.PodSandboxStatusRequest(pod_sandbox_id=made))
    (item,) = rig.runtime.ListPodSandbox(pb.ListPodSandboxRequest()).items
    for found in (told.status, item):
        assert (found.id, found.metadata) == (made, config.metadata)
        assert (found.state, found.runtime_handler) == (pb.SANDBOX_READY, "other")
        assert (dict(found.labels), dict(found.annotations)) == (dict(config.labels), notes)
        assert found.created_at > 10**18
    assert told.status.network.ip
    assert not told.info


def test_details_are_json_and_only_on_demand(rig: RuntimeRig) -> None:
    """The configuration lies where containerd has it."""
    asked = pb.PodSandboxStatusRequest(pod_sandbox_id=rig.sandbox(), verbose=True)
    told = json.loads(rig.runtime.PodSandboxStatus(asked).info["info"])
    assert told["config"]["metadata"]["name"] == "pod"


def test_the_hosts_network_has_no_address(rig: RuntimeRig) -> None:
    """CRI-SB-015: kubelet takes the node's own."""
    options = pb.NamespaceOption(network=pb.NODE)
    security = pb.LinuxSandboxSecurityContext(namespace_options=options)
    made = rig.sandbox(linux=pb.LinuxPodSandboxConfig(security_context=security))
    asked = pb.PodSandboxStatusRequest(pod_sandbox_id=made)
    status = rig.runtime.PodSandboxStatus(asked).status
    assert status.network.ip == ""
    assert status.linux.namespaces.options.network == pb.NODE


def test_filters_are_by_id_state_and_labels(rig: RuntimeRig) -> None:
    """State 0 is a state, not the lack of one."""
    first, second = rig.sandbox("a"), rig.sandbox("b")
    rig.runtime.StopPodSandbox(pb.StopPodSandboxRequest(pod_sandbox_id=first))
    ready = pb.PodSandboxStateValue(state=pb.SANDBOX_READY)
    assert listed(rig) == [first, second]
    assert listed(rig, state=ready) == [second]
    assert listed(rig, id=first, state=ready) == []
    assert listed(rig, label_selector={"io.kubernetes.pod.uid": "uid-a"}) == [first]


def test_stop_and_remove_may_be_repeated(rig: RuntimeRig, refused: RefusedWith) -> None:
    """Kubelet does; afterwards the sandbox is not found."""
    made = rig.sandbox()
    for _ in range(2):
        rig.runtime.StopPodSandbox(pb.StopPodSandboxRequest(pod_sandbox_id=made))
    for _ in range(2):
        rig.runtime.RemovePodSandbox(pb.RemovePodSandboxRequest(pod_sandbox_id=made))
    with refused(Code.NOT_FOUND, made):
        rig.runtime.PodSandboxStatus(pb.PodSandboxStatusRequest(pod_sandbox_id=made))


def test_resources_of_a_sandbox_are_taken_for_one_that_is_there(
    rig: RuntimeRig, refused: RefusedWith
) -> None:
    """Kubelet has changed the cgroup before it tells."""
    asked = pb.UpdatePodSandboxResourcesRequest(pod_sandbox_id=rig.sandbox())
    reply = rig.runtime.UpdatePodSandboxResources(asked)
    assert reply == pb.UpdatePodSandboxResourcesResponse()
    with refused(Code.NOT_FOUND):
        rig.runtime.UpdatePodSandboxResources(
            pb.UpdatePodSandboxResourcesRequest(pod_sandbox_id="unknown")
        )
