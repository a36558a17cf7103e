"""Starting containers, admitting again after a restart, and the node's own check."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.deviceplugin.state.admission import NotStarted
from refimpl.deviceplugin.state.effects import Allocate, PreStartContainer
from refimpl.deviceplugin.state.merge import TopologyPolicy
from refimpl.deviceplugin.state.models import Container, ContainerResponse, Device, Pod
from refimpl.deviceplugin.state.records import DeviceRecord

R = "example.com/gpu"


def test_prestart_comes_before_every_start_with_the_same_ids(rig: Any, pod_of: Any) -> None:
    """DP-KUB-042, 045: and Allocate is not repeated."""
    rig.plugin(["a", "b"], pre_start=True)
    pod = pod_of("u1", 2)
    rig.allocated = [(ContainerResponse({"N": "1"}),)]
    rig.admit(pod)
    for _ in range(2):
        assert [answer.envs for answer in rig.start(pod, pod.app[0])] == [{"N": "1"}]
    calls = rig.effects(PreStartContainer)
    assert [{*call.ids} for call in calls] == [{"a", "b"}] * 2
    assert calls[0].deadline_s == 30
    assert len(rig.effects(Allocate)) == 1


def test_prestart_that_is_not_wanted_is_not_called(rig: Any, pod_of: Any) -> None:
    """DP-KUB-044."""
    rig.plugin(["a"])
    pod = pod_of("u1", 1)
    rig.admit(pod)
    rig.start(pod, pod.app[0])
    assert rig.effects(PreStartContainer) == []


def test_a_failed_prestart_makes_the_container_wait(rig: Any, pod_of: Any, broken: Any) -> None:
    """DP-KUB-043: it is tried again; the pod stays admitted."""
    rig.plugin(["a"], pre_start=True)
    pod = pod_of("u1", 1)
    rig.admit(pod)
    rig.pre_started = [broken]
    with pytest.raises(NotStarted, match="PreStartContainer failed: INTERNAL"):
        rig.start(pod, pod.app[0])
    assert len(rig.start(pod, pod.app[0])) == 1
    assert "u1" in rig.tables.pods


def test_a_plugin_that_is_gone_cannot_prepare_a_start(rig: Any, pod_of: Any) -> None:
    """Stopped is one thing, forgotten another."""
    connection = rig.plugin(["a"], pre_start=True)
    pod = pod_of("u1", 1)
    rig.admit(pod)
    rig.tables.endpoints.ended(connection)
    with pytest.raises(NotStarted, match="has stopped"):
        rig.start(pod, pod.app[0])
    rig.clock.now += 301
    rig.state.count()
    with pytest.raises(NotStarted, match="has no plugin"):
        rig.start(pod, pod.app[0])


def test_a_start_without_a_record_allocates_late(rig: Any, pod_of: Any) -> None:
    """A record lost with the checkpoint; a pod that is not active gets nothing."""
    rig.plugin(["a"])
    pod = pod_of("u1", 1)
    assert rig.start(pod, pod.app[0]) == ()
    rig.tables.pods["u1"] = pod
    assert len(rig.start(pod, pod.app[0])) == 1
    assert rig.ids("u1", "c0") == {"a"}


def level(kubelet: Any, **more: Any) -> tuple[Any, Pod]:
    """A kubelet that leaves pods with resources of their own to the start."""
    gates = {"PodLevelResourceManagers": True}
    rig = kubelet(gates=gates, policy=TopologyPolicy("best-effort", (0, 1)), scope="pod")
    rig.plugin(["a"], **more)
    return rig, Pod("u1", (Container("c", {R: 1}),), pod_level=True)


def test_pod_level_resources_put_allocation_off_to_the_start(kubelet: Any, broken: Any) -> None:
    """DP-KUB-070, 071: then an error is no refusal; each attempt calls anew."""
    rig, pod = level(kubelet)
    assert rig.admit(pod).accepted
    assert rig.calls == []
    rig.allocated = [broken, broken]
    for _ in range(2):
        with pytest.raises(NotStarted, match="Allocate failed: INTERNAL"):
            rig.start(pod, pod.app[0])
    assert len(rig.start(pod, pod.app[0])) == 1
    assert len(rig.effects(Allocate)) == 3


def test_pod_level_resources_and_prestart_never_get_going(kubelet: Any) -> None:
    """PreStartContainer comes first, and has no devices to name."""
    rig, pod = level(kubelet, pre_start=True)
    rig.admit(pod)
    with pytest.raises(NotStarted, match=r"no device of .* is recorded"):
        rig.start(pod, pod.app[0])
    assert rig.calls == []


def test_without_the_gate_pod_level_resources_change_nothing(kubelet: Any) -> None:
    """Off by default in 1.37."""
    rig = kubelet(policy=TopologyPolicy("best-effort", (0, 1)), scope="pod")
    rig.plugin(["a"])
    rig.admit(Pod("u1", (Container("c", {R: 1}),), pod_level=True))
    assert len(rig.effects(Allocate)) == 1


def test_a_pod_that_the_counts_do_not_allow_is_refused_by_the_node(rig: Any) -> None:
    """Reuse lets it have its devices one after another; its peak is what is counted."""
    rig.plugin(["a", "b"])
    rig.tables.pods["other"] = Pod("other", (Container("c", {R: 1}),))
    admission = rig.admit(Pod("u1", (Container("c", {R: 2}),)))
    assert admission.reason == "OutOfexample.com/gpu"
    assert "2 of example.com/gpu requested, 1 of 2 in use" in admission.message
    assert rig.admit(Pod("u2", (Container("c", {R: 1}),))).accepted


def test_a_pod_in_an_outage_keeps_its_place_on_the_node(kubelet: Any, pod_of: Any) -> None:
    """Allocatable counts at least what is held."""
    rig = restarted(kubelet, "1.37", running=[("u1", "c0")])
    assert rig.admit(pod_of("u1", 1)).accepted


# -- restart --------------------------------------------------------------------------------------


def restarted(
    kubelet: Any, profile: str, running: Any = (), boot: tuple[str, str] = ("", "")
) -> Any:
    """A kubelet that starts from the checkpoint of one in which u1 held a device."""
    before = kubelet(profile)
    before.plugin(["a", "b"])
    init = Container("init", {R: 1})
    before.admit(Pod("u1", (Container("c0", {R: 1}),), (init,)))
    rig = kubelet(profile)
    rig.state.restore(before.state.saved(boot[0]), running=running, boot_id=boot[1])
    return rig


def test_a_restored_resource_is_empty_and_its_records_are_kept(kubelet: Any, pod_of: Any) -> None:
    """DP-KUB-054: nothing is handed out twice."""
    rig = restarted(kubelet, "1.37")
    assert rig.counts() == (0, 0)
    assert rig.ids("u1", "c0") == {"a"}
    rig.plugin(["a", "b"])
    assert rig.counts() == (2, 2)
    rig.admit(pod_of("u2", 1))
    assert rig.ids("u2", "c0") == {"b"}


def test_a_restored_resource_expires_as_well(kubelet: Any) -> None:
    """Its plugin is taken to have stopped when kubelet started."""
    rig = restarted(kubelet, "1.37")
    rig.clock.now += 301
    assert rig.state.count().removed == (R,)


def test_nothing_is_collected_before_all_pods_are_heard_of(kubelet: Any, pod_of: Any) -> None:
    """Else the devices of pods that come later would be given away."""
    rig = restarted(kubelet, "1.37")
    rig.plugin(["a", "b"])
    assert not rig.admit(pod_of("u2", 2)).accepted
    rig.tables.sources_ready = True
    assert rig.admit(pod_of("u3", 2)).accepted


def test_a_running_container_is_not_disturbed(kubelet: Any, pod_of: Any) -> None:
    """DP-KUB-056: the plugin may take its time."""
    rig = restarted(kubelet, "1.37", running=[("u1", "c0")])
    assert rig.admit(pod_of("u1", 1)).accepted
    assert rig.calls == []


def test_a_container_that_does_not_run_is_judged(kubelet: Any, pod_of: Any) -> None:
    """DP-KUB-055: silent plugin or sick device, it fails."""
    rig = restarted(kubelet, "1.37")
    assert "no healthy device" in rig.admit(pod_of("u1", 1)).message
    rig.plugin([Device("a", "Unhealthy"), "b"])
    assert "not healthy any more" in rig.admit(pod_of("u1", 1)).message
    rig.lists(["a", "b"])
    assert rig.admit(pod_of("u1", 1)).accepted


@pytest.mark.parametrize(("profile", "accepted"), [("1.37", False), ("ideal", True)])
def test_a_finished_init_container_of_a_running_pod(
    kubelet: Any, profile: str, accepted: bool
) -> None:
    """DP-KUB-076: released kubelets judge it like one that never ran."""
    rig = restarted(kubelet, profile, running=[("u1", "c0")])
    pod = Pod("u1", (Container("c0", {R: 1}),), (Container("init", {R: 1}),))
    assert rig.admit(pod).accepted == accepted
    assert rig.calls == []


def test_the_proposal_believes_records_of_the_same_boot(kubelet: Any, pod_of: Any) -> None:
    """And lets the container wait until the plugin has reported."""
    pod = pod_of("u1", 1)
    assert not restarted(kubelet, "boot-id", boot=("x", "y")).admit(pod).accepted
    rig = restarted(kubelet, "boot-id", boot=("x", "x"))
    assert rig.admit(pod).accepted
    with pytest.raises(NotStarted, match="has not reported"):
        rig.start(pod, pod.app[0])
    rig.plugin(["a"])
    assert len(rig.start(pod, pod.app[0])) == 1


# -- health of what is assigned -------------------------------------------------------------------


def test_a_flip_of_an_assigned_device_shows_in_the_pods_status(kubelet: Any, pod_of: Any) -> None:
    """DP-KUB-060, 061: the pod keeps running; an id that left the list shows as Healthy."""
    rig = kubelet("1.37")
    rig.plugin(["a", "b"])
    rig.admit(pod_of("u1", 1))
    assert rig.lists([Device("a", "Unhealthy"), Device("b", "Unhealthy")]) == ("u1",)
    assert rig.tables.health("u1", "c0") == {R: {"a": "Unhealthy"}}
    assert rig.lists(["b"]) == ()
    assert rig.tables.health("u1", "c0") == {R: {"a": "Healthy"}}
    assert rig.lists([Device("a", "Unhealthy"), "b"]) == ("u1",)
    assert "u1" in rig.tables.pods


@pytest.mark.parametrize(("profile", "refreshed"), [("1.36", ("u1",)), ("1.37", ("u2",))])
def test_an_id_of_two_resources_refreshes_the_right_pod(
    kubelet: Any, profile: str, refreshed: tuple[str, ...]
) -> None:
    """DP-KUB-069: older kubelets took the first that holds an id of that name."""
    rig = kubelet(profile)
    for uid, resource in (("u1", "x.io/one"), ("u2", "x.io/two")):
        rig.tables.records.put(DeviceRecord(uid, "c", resource, {-1: ("a",)}))
    assert rig.lists(["a"], resource="x.io/two") == refreshed


def test_without_the_gate_nobody_is_told(kubelet: Any, pod_of: Any) -> None:
    """Off by default before 1.36."""
    rig = kubelet("1.35")
    rig.plugin(["a"])
    rig.admit(pod_of("u1", 1))
    assert rig.lists([Device("a", "Unhealthy")]) == ()


def test_what_no_plugin_offers_does_not_hinder_a_start(rig: Any) -> None:
    """Nor does a request for none."""
    rig.plugin(["a"], pre_start=True)
    pod = Pod("u1", (Container("c", {R: 0, "cpu": 1, "x.io/y": 1}),))
    assert rig.admit(pod).accepted
    assert rig.start(pod, pod.app[0]) == ()
    assert rig.calls == []
