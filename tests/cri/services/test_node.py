"""What kubelet asks of a runtime before it runs anything."""

from __future__ import annotations

import json

from refimpl.cri.api import cri_pb2 as pb
from tests.cri.runtime_rig import RuntimeRig


def test_the_version_is_the_one_that_kubelet_wants(rig: RuntimeRig) -> None:
    """Kubelet compares `version` with its own, and refuses empty fields."""
    told = rig.runtime.Version(pb.VersionRequest(version="v1"))
    assert (told.version, told.runtime_api_version) == ("0.1.0", "v1")
    assert told.runtime_name
    assert told.runtime_version


def test_both_conditions_hold_and_handlers_are_listed(rig: RuntimeRig) -> None:
    """Without them no node becomes ready; details come only on demand."""
    told = rig.runtime.Status(pb.StatusRequest())
    found = {each.type: each.status for each in told.status.conditions}
    assert found == {"RuntimeReady": True, "NetworkReady": True}
    assert [each.name for each in told.runtime_handlers] == ["", "other"]
    assert not told.info
    (value,) = rig.runtime.Status(pb.StatusRequest(verbose=True)).info.values()
    assert json.loads(value)


def test_the_cgroup_driver_is_said_and_a_pod_range_is_taken(rig: RuntimeRig) -> None:
    """An empty RuntimeConfig would mean systemd."""
    told = rig.runtime.RuntimeConfig(pb.RuntimeConfigRequest())
    assert told.linux.cgroup_driver == pb.CGROUPFS
    network = pb.NetworkConfig(pod_cidr="10.1.0.0/16")
    config = pb.RuntimeConfig(network_config=network)
    sent = pb.UpdateRuntimeConfigRequest(runtime_config=config)
    assert rig.runtime.UpdateRuntimeConfig(sent) == pb.UpdateRuntimeConfigResponse()
