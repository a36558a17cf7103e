"""Sandboxes over the socket."""

from __future__ import annotations

import json

from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith
from tests.cri.runtime_rig import RuntimeRig, sandbox_config


def listed(rig: RuntimeRig, **wanted: object) -> list[str]:
    """Ids of the sandboxes that a filter fits."""
    request = pb.ListPodSandboxRequest(filter=pb.PodSandboxFilter(**wanted))  # type: ignore[arg-type]
    return [each.id for each in rig.runtime.ListPodSandbox(request).items]


def test_status_and_list_give_back_what_was_sent(rig: RuntimeRig) -> None:
    """CRI-SB-010, 011: annotations to the byte; kubelet finds its pods by the labels."""
    notes = {"a": "", "b": "ü\n" * 100}
    config = sandbox_config(annotations=notes)
    sandbox = rig.cri.run_pod_sandbox(config, "other")
    reply = rig.cri.pod_sandbox_status(sandbox)
    (item,) = rig.cri.list_pod_sandboxes()
    for shown in (reply.status, item):
        assert (shown.id, shown.metadata) == (sandbox, config.metadata)
        assert (shown.state, shown.runtime_handler) == (pb.SANDBOX_READY, "other")
        assert (dict(shown.labels), dict(shown.annotations)) == (dict(config.labels), notes)
        assert shown.created_at > 10**18
    assert reply.status.network.ip
    assert not reply.info


def test_details_are_json_and_only_on_demand(rig: RuntimeRig) -> None:
    """The configuration lies where containerd has it."""
    reply = rig.cri.pod_sandbox_status(rig.sandbox(), verbose=True)
    assert json.loads(reply.info["info"])["config"]["metadata"]["name"] == "pod"


def test_the_hosts_network_has_no_address(rig: RuntimeRig) -> None:
    """CRI-SB-015: kubelet takes the node's own."""
    status = rig.cri.pod_sandbox_status(rig.sandbox(host_network=True)).status
    assert status.network.ip == ""
    assert status.linux.namespaces.options.network == pb.NODE


def test_filters_are_by_id_state_and_labels(rig: RuntimeRig) -> None:
    """State 0 is a state, not the lack of one."""
    first, second = rig.sandbox("a"), rig.sandbox("b")
    rig.cri.stop_pod_sandbox(first)
    ready = pb.PodSandboxStateValue(state=pb.SANDBOX_READY)
    assert listed(rig) == [first, second]
    assert listed(rig, state=ready) == [second]
    assert listed(rig, id=first, state=ready) == []
    assert listed(rig, label_selector={"io.kubernetes.pod.uid": "uid-a"}) == [first]


def test_stop_and_remove_may_be_repeated(rig: RuntimeRig, refused: RefusedWith) -> None:
    """Kubelet does; afterwards the sandbox is not found."""
    sandbox = rig.sandbox()
    for _ in range(2):
        rig.cri.stop_pod_sandbox(sandbox)
    for _ in range(2):
        rig.cri.remove_pod_sandbox(sandbox)
    with refused(Code.NOT_FOUND, sandbox):
        rig.cri.pod_sandbox_status(sandbox)


def test_resources_of_a_sandbox_are_taken_for_one_that_is_there(
    rig: RuntimeRig, refused: RefusedWith
) -> None:
    """Kubelet has changed the cgroup before it tells."""
    request = pb.UpdatePodSandboxResourcesRequest(pod_sandbox_id=rig.sandbox())
    reply = rig.runtime.UpdatePodSandboxResources(request)
    assert reply == pb.UpdatePodSandboxResourcesResponse()
    with refused(Code.NOT_FOUND):
        rig.runtime.UpdatePodSandboxResources(
            pb.UpdatePodSandboxResourcesRequest(pod_sandbox_id="unknown")
        )
