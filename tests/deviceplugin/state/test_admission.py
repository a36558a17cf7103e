"""Starting containers, admitting again after a restart, and the node's own check."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.deviceplugin.state.admission import NotStarted
from refimpl.deviceplugin.state.effects import Allocate, PreStartContainer
from refimpl.deviceplugin.state.merge import Policy
from refimpl.deviceplugin.state.models import Container, ContainerResponse, Device, Pod
from refimpl.deviceplugin.state.records import Record

R = "example.com/gpu"


def test_prestart_comes_before_every_start_with_the_same_ids(desk: Any, pod_of: Any) -> None:
    """DP-KUB-042, 045: and Allocate is not repeated."""
    desk.plugin(["a", "b"], pre_start=True)
    pod = pod_of("u1", 2)
    desk.allocated = [(ContainerResponse({"N": "1"}),)]
    desk.admit(pod)
    for _ in range(2):
        assert [answer.envs for answer in desk.start(pod, pod.app[0])] == [{"N": "1"}]
    calls = desk.made(PreStartContainer)
    assert [{*call.ids} for call in calls] == [{"a", "b"}] * 2
    assert calls[0].deadline_s == 30
    assert len(desk.made(Allocate)) == 1


def test_prestart_that_is_not_wanted_is_not_called(desk: Any, pod_of: Any) -> None:
    """DP-KUB-044."""
    desk.plugin(["a"])
    pod = pod_of("u1", 1)
    desk.admit(pod)
    desk.start(pod, pod.app[0])
    assert desk.made(PreStartContainer) == []


def test_a_failed_prestart_makes_the_container_wait(desk: Any, pod_of: Any, broken: Any) -> None:
    """DP-KUB-043: it is tried again; the pod stays admitted."""
    desk.plugin(["a"], pre_start=True)
    pod = pod_of("u1", 1)
    desk.admit(pod)
    desk.pre_started = [broken]
    with pytest.raises(NotStarted, match="PreStartContainer failed: INTERNAL"):
        desk.start(pod, pod.app[0])
    assert len(desk.start(pod, pod.app[0])) == 1
    assert "u1" in desk.tables.pods


def test_a_plugin_that_is_gone_cannot_prepare_a_start(desk: Any, pod_of: Any) -> None:
    """Stopped is one thing, forgotten another."""
    connection = desk.plugin(["a"], pre_start=True)
    pod = pod_of("u1", 1)
    desk.admit(pod)
    desk.tables.endpoints.ended(connection)
    with pytest.raises(NotStarted, match="has stopped"):
        desk.start(pod, pod.app[0])
    desk.clock.now += 301
    desk.state.count()
    with pytest.raises(NotStarted, match="has no plugin"):
        desk.start(pod, pod.app[0])


def test_a_start_without_a_record_allocates_late(desk: Any, pod_of: Any) -> None:
    """A record lost with the checkpoint; a pod that is not active gets nothing."""
    desk.plugin(["a"])
    pod = pod_of("u1", 1)
    assert desk.start(pod, pod.app[0]) == ()
    desk.tables.pods["u1"] = pod
    assert len(desk.start(pod, pod.app[0])) == 1
    assert desk.ids("u1", "c0") == {"a"}


def level(kubelet: Any, **more: Any) -> tuple[Any, Pod]:
    """A kubelet that leaves pods with resources of their own to the start."""
    gates = {"PodLevelResourceManagers": True}
    desk = kubelet(gates=gates, policy=Policy("best-effort", (0, 1)), scope="pod")
    desk.plugin(["a"], **more)
    return desk, Pod("u1", (Container("c", {R: 1}),), pod_level=True)


def test_pod_level_resources_put_allocation_off_to_the_start(kubelet: Any, broken: Any) -> None:
    """DP-KUB-070, 071: then an error is no refusal; each attempt calls anew."""
    desk, pod = level(kubelet)
    assert desk.admit(pod).accepted
    assert desk.calls == []
    desk.allocated = [broken, broken]
    for _ in range(2):
        with pytest.raises(NotStarted, match="Allocate failed: INTERNAL"):
            desk.start(pod, pod.app[0])
    assert len(desk.start(pod, pod.app[0])) == 1
    assert len(desk.made(Allocate)) == 3


def test_pod_level_resources_and_prestart_never_get_going(kubelet: Any) -> None:
    """PreStartContainer comes first, and has no devices to name."""
    desk, pod = level(kubelet, pre_start=True)
    desk.admit(pod)
    with pytest.raises(NotStarted, match=r"no device of .* is recorded"):
        desk.start(pod, pod.app[0])
    assert desk.calls == []


def test_without_the_gate_pod_level_resources_change_nothing(kubelet: Any) -> None:
    """Off by default in 1.37."""
    desk = kubelet(policy=Policy("best-effort", (0, 1)), scope="pod")
    desk.plugin(["a"])
    desk.admit(Pod("u1", (Container("c", {R: 1}),), pod_level=True))
    assert len(desk.made(Allocate)) == 1


def test_a_pod_that_the_counts_do_not_allow_is_refused_by_the_node(desk: Any) -> None:
    """Reuse lets it have its devices one after another; its peak is what is counted."""
    desk.plugin(["a", "b"])
    desk.tables.pods["other"] = Pod("other", (Container("c", {R: 1}),))
    admission = desk.admit(Pod("u1", (Container("c", {R: 2}),)))
    assert admission.reason == "OutOfexample.com/gpu"
    assert "2 of example.com/gpu requested, 1 of 2 in use" in admission.message
    assert desk.admit(Pod("u2", (Container("c", {R: 1}),))).accepted


def test_a_pod_in_an_outage_keeps_its_place_on_the_node(kubelet: Any, pod_of: Any) -> None:
    """Allocatable counts at least what is held."""
    desk = restarted(kubelet, "1.37", running=[("u1", "c0")])
    assert desk.admit(pod_of("u1", 1)).accepted


# -- restart --------------------------------------------------------------------------------------


def restarted(
    kubelet: Any, profile: str, running: Any = (), boot: tuple[str, str] = ("", "")
) -> Any:
    """A kubelet that starts from the checkpoint of one in which u1 held a device."""
    before = kubelet(profile)
    before.plugin(["a", "b"])
    init = Container("init", {R: 1})
    before.admit(Pod("u1", (Container("c0", {R: 1}),), (init,)))
    desk = kubelet(profile)
    desk.state.restore(before.state.saved(boot[0]), running=running, boot_id=boot[1])
    return desk


def test_a_restored_resource_is_empty_and_its_records_are_kept(kubelet: Any, pod_of: Any) -> None:
    """DP-KUB-054: nothing is handed out twice."""
    desk = restarted(kubelet, "1.37")
    assert desk.counts() == (0, 0)
    assert desk.ids("u1", "c0") == {"a"}
    desk.plugin(["a", "b"])
    assert desk.counts() == (2, 2)
    desk.admit(pod_of("u2", 1))
    assert desk.ids("u2", "c0") == {"b"}


def test_a_restored_resource_expires_as_well(kubelet: Any) -> None:
    """Its plugin is taken to have stopped when kubelet started."""
    desk = restarted(kubelet, "1.37")
    desk.clock.now += 301
    assert desk.state.count().removed == (R,)


def test_nothing_is_collected_before_all_pods_are_heard_of(kubelet: Any, pod_of: Any) -> None:
    """Else the devices of pods that come later would be given away."""
    desk = restarted(kubelet, "1.37")
    desk.plugin(["a", "b"])
    assert not desk.admit(pod_of("u2", 2)).accepted
    desk.tables.sources_ready = True
    assert desk.admit(pod_of("u3", 2)).accepted


def test_a_running_container_is_not_disturbed(kubelet: Any, pod_of: Any) -> None:
    """DP-KUB-056: the plugin may take its time."""
    desk = restarted(kubelet, "1.37", running=[("u1", "c0")])
    assert desk.admit(pod_of("u1", 1)).accepted
    assert desk.calls == []


def test_a_container_that_does_not_run_is_judged(kubelet: Any, pod_of: Any) -> None:
    """DP-KUB-055: silent plugin or sick device, it fails."""
    desk = restarted(kubelet, "1.37")
    assert "no healthy device" in desk.admit(pod_of("u1", 1)).message
    desk.plugin([Device("a", "Unhealthy"), "b"])
    assert "not healthy any more" in desk.admit(pod_of("u1", 1)).message
    desk.lists(["a", "b"])
    assert desk.admit(pod_of("u1", 1)).accepted


@pytest.mark.parametrize(("profile", "accepted"), [("1.37", False), ("ideal", True)])
def test_a_finished_init_container_of_a_running_pod(
    kubelet: Any, profile: str, accepted: bool
) -> None:
    """DP-KUB-076: released kubelets judge it like one that never ran."""
    desk = restarted(kubelet, profile, running=[("u1", "c0")])
    pod = Pod("u1", (Container("c0", {R: 1}),), (Container("init", {R: 1}),))
    assert desk.admit(pod).accepted == accepted
    assert desk.calls == []


def test_the_proposal_believes_records_of_the_same_boot(kubelet: Any, pod_of: Any) -> None:
    """And lets the container wait until the plugin has reported."""
    pod = pod_of("u1", 1)
    assert not restarted(kubelet, "boot-id", boot=("x", "y")).admit(pod).accepted
    desk = restarted(kubelet, "boot-id", boot=("x", "x"))
    assert desk.admit(pod).accepted
    with pytest.raises(NotStarted, match="has not reported"):
        desk.start(pod, pod.app[0])
    desk.plugin(["a"])
    assert len(desk.start(pod, pod.app[0])) == 1


# -- health of what is assigned -------------------------------------------------------------------


def test_a_flip_of_an_assigned_device_shows_in_the_pods_status(kubelet: Any, pod_of: Any) -> None:
    """DP-KUB-060, 061: the pod keeps running; an id that left the list shows as Healthy."""
    desk = kubelet("1.37")
    desk.plugin(["a", "b"])
    desk.admit(pod_of("u1", 1))
    assert desk.lists([Device("a", "Unhealthy"), Device("b", "Unhealthy")]) == ("u1",)
    assert desk.tables.health("u1", "c0") == {R: {"a": "Unhealthy"}}
    assert desk.lists(["b"]) == ()
    assert desk.tables.health("u1", "c0") == {R: {"a": "Healthy"}}
    assert desk.lists([Device("a", "Unhealthy"), "b"]) == ("u1",)
    assert "u1" in desk.tables.pods


@pytest.mark.parametrize(("profile", "told"), [("1.36", ("u1",)), ("1.37", ("u2",))])
def test_an_id_of_two_resources_refreshes_the_right_pod(
    kubelet: Any, profile: str, told: tuple[str, ...]
) -> None:
    """DP-KUB-069: older kubelets took the first that holds an id of that name."""
    desk = kubelet(profile)
    for uid, resource in (("u1", "x.io/one"), ("u2", "x.io/two")):
        desk.tables.records.put(Record(uid, "c", resource, {-1: ("a",)}))
    assert desk.lists(["a"], resource="x.io/two") == told


def test_without_the_gate_nobody_is_told(kubelet: Any, pod_of: Any) -> None:
    """Off by default before 1.36."""
    desk = kubelet("1.35")
    desk.plugin(["a"])
    desk.admit(pod_of("u1", 1))
    assert desk.lists([Device("a", "Unhealthy")]) == ()


def test_what_no_plugin_offers_does_not_hinder_a_start(desk: Any) -> None:
    """Nor does a request for none."""
    desk.plugin(["a"], pre_start=True)
    pod = Pod("u1", (Container("c", {R: 0, "cpu": 1, "x.io/y": 1}),))
    assert desk.admit(pod).accepted
    assert desk.start(pod, pod.app[0]) == ()
    assert desk.calls == []
