"""What kubelet asks of a runtime before it runs anything."""

from __future__ import annotations

import json

from refimpl.cri.api import cri_pb2 as pb
from tests.cri.runtime_rig import RuntimeRig


def test_the_version_is_the_one_that_kubelet_wants(rig: RuntimeRig) -> None:
    """Kubelet compares `version` with its own, and refuses empty fields."""
    reply = rig.runtime.Version(pb.VersionRequest(version="v1"))
    assert (reply.version, reply.runtime_api_version) == ("0.1.0", "v1")
    assert reply.runtime_name
    assert reply.runtime_version


def test_both_conditions_hold_and_handlers_are_listed(rig: RuntimeRig) -> None:
    """Without them no node becomes ready; details come only on demand."""
    reply = rig.runtime.Status(pb.StatusRequest())
    conditions = {each.type: each.status for each in reply.status.conditions}
    assert conditions == {"RuntimeReady": True, "NetworkReady": True}
    assert [each.name for each in reply.runtime_handlers] == ["", "other"]
    assert not reply.info
    (value,) = rig.runtime.Status(pb.StatusRequest(verbose=True)).info.values()
    assert json.loads(value)


def test_the_cgroup_driver_is_said_and_a_pod_range_is_taken(rig: RuntimeRig) -> None:
    """An empty RuntimeConfig would mean systemd."""
    reply = rig.runtime.RuntimeConfig(pb.RuntimeConfigRequest())
    assert reply.linux.cgroup_driver == pb.CGROUPFS
    network = pb.NetworkConfig(pod_cidr="10.1.0.0/16")
    config = pb.RuntimeConfig(network_config=network)
    sent = pb.UpdateRuntimeConfigRequest(runtime_config=config)
    assert rig.runtime.UpdateRuntimeConfig(sent) == pb.UpdateRuntimeConfigResponse()
