"""Allocate: what is called, and what remains when it fails."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.deviceplugin.state.allocate import Died
from refimpl.deviceplugin.state.effects import Allocate, GetPreferredAllocation, WriteCheckpoint
from refimpl.deviceplugin.state.hints import Hint
from refimpl.deviceplugin.state.merge import TopologyPolicy
from refimpl.deviceplugin.state.models import Container, ContainerResponse, Device, Pod

R, S = "example.com/gpu", "example.com/nic"


def test_two_containers_get_a_call_each_and_share_nothing(rig: Any, pod_of: Any) -> None:
    """DP-KUB-032, 033."""
    connection = rig.plugin(["a", "b", "c"])
    assert rig.admit(pod_of("u1", 1, 2)).accepted
    calls = rig.effects(Allocate)
    assert [len(call.ids) for call in calls] == [1, 2]
    assert {call.connection for call in calls} == {connection}
    assert rig.ids("u1", "c0").isdisjoint(rig.ids("u1", "c1"))
    assert len(rig.effects(WriteCheckpoint)) == 2


def test_two_resources_get_a_call_each(rig: Any) -> None:
    """DP-KUB-034: and one write."""
    rig.plugin(["a"])
    rig.plugin(["n"], resource=S, socket="s.sock")
    assert rig.admit(Pod("u1", (Container("c", {R: 1, S: 1}),))).accepted
    assert {call.connection.resource for call in rig.effects(Allocate)} == {R, S}
    assert len(rig.effects(WriteCheckpoint)) == 1


def test_an_error_fails_the_pod_and_frees_the_devices(rig: Any, pod_of: Any, broken: Any) -> None:
    """DP-KUB-035: the status says what the plugin said."""
    rig.plugin(["a"])
    rig.allocated = [broken]
    admission = rig.admit(pod_of("u1", 1))
    assert (admission.accepted, admission.reason) == (False, "UnexpectedAdmissionError")
    assert admission.message.startswith("Pod was rejected: Allocate failed due to ")
    assert admission.message.endswith(", which is unexpected")
    assert "INTERNAL: the device does not answer" in admission.message
    assert rig.in_use() == set()


@pytest.mark.parametrize(("profile", "left"), [("1.37", {"a"}), ("ideal", set())])
def test_an_answer_without_containers_leaks(
    kubelet: Any, pod_of: Any, profile: str, left: set[str]
) -> None:
    """DP-KUB-036: a better kubelet frees the devices."""
    rig = kubelet(profile)
    rig.plugin(["a", "b"])
    rig.allocated = [()]
    assert not rig.admit(pod_of("u1", 1)).accepted
    assert rig.in_use() == left


def test_a_leak_ends_with_the_next_pod_that_leaves(rig: Any, pod_of: Any) -> None:
    """DP-KUB-036: only then the marks are made anew from the records."""
    rig.plugin(["a", "b"])
    assert rig.admit(pod_of("u1", 1)).accepted
    rig.allocated = [()]
    assert not rig.admit(pod_of("u2", 1)).accepted
    assert not rig.admit(pod_of("u3", 1)).accepted
    rig.state.admissions.remove("u1")
    assert rig.admit(pod_of("u4", 2)).accepted


def test_of_two_container_responses_the_first_is_used(rig: Any, pod_of: Any) -> None:
    """DP-KUB-037."""
    rig.plugin(["a"])
    rig.allocated = [(ContainerResponse({"N": "1"}), ContainerResponse({"N": "2"}))]
    rig.admit(pod_of("u1", 1))
    assert rig.tables.records.get("u1", "c0", R).response.envs == {"N": "1"}
    assert "of 2 container responses" in rig.notes[0]


def test_what_a_failed_pod_got_is_freed_after_it_left(rig: Any, broken: Any) -> None:
    """DP-KUB-038: the first resource worked, the second did not."""
    rig.plugin(["a"])
    rig.plugin(["n"], resource=S, socket="s.sock")
    rig.allocated = [(ContainerResponse(),), broken]
    both = (Container("c", {R: 1, S: 1}),)
    assert not rig.admit(Pod("u1", both)).accepted
    assert rig.in_use() == {"a"}
    assert rig.admit(Pod("u2", both)).accepted
    assert rig.ids("u2", "c") == {"a"}


def test_an_error_of_the_preference_fails_the_pod(rig: Any, pod_of: Any, broken: Any) -> None:
    """DP-KUB-040: no Allocate follows."""
    rig.plugin(["a", "b"], preferred=True)
    rig.preferred = [broken]
    admission = rig.admit(pod_of("u1", 1))
    assert "GetPreferredAllocation failed: INTERNAL" in admission.message
    assert rig.effects(Allocate) == []


@pytest.mark.parametrize(("profile", "left"), [("1.37", {"a"}), ("ideal", set())])
def test_what_was_picked_before_a_failed_preference_leaks(
    kubelet: Any, broken: Any, profile: str, left: set[str]
) -> None:
    """The aligned devices were marked before the plugin was asked for the rest."""
    wish = {"cpu": [Hint(0b1, True)]}
    rig = kubelet(profile, policy=TopologyPolicy("best-effort", (0, 1)), wishes=lambda *_: [wish])
    devices = [Device("a", nodes=(0,)), Device("b", nodes=(1,)), Device("c", nodes=(1,))]
    rig.plugin(devices, preferred=True)
    rig.preferred = [broken]
    assert not rig.admit(Pod("u1", (Container("c", {R: 2}),))).accepted
    assert rig.in_use() == left


def test_a_plugin_that_does_not_offer_preferences_is_not_asked(rig: Any, pod_of: Any) -> None:
    """DP-KUB-041."""
    rig.plugin(["a", "b"])
    assert rig.admit(pod_of("u1", 1)).accepted
    assert rig.effects(GetPreferredAllocation) == []


def test_devices_are_free_again_after_their_pod_left(rig: Any, pod_of: Any) -> None:
    """DP-KUB-046: when devices are collected next, not when the pod goes."""
    rig.plugin(["a"])
    assert rig.admit(pod_of("u1", 1)).accepted
    assert not rig.admit(pod_of("u2", 1)).accepted
    rig.state.admissions.remove("u1")
    assert rig.in_use() == {"a"}
    assert rig.admit(pod_of("u3", 1)).accepted


def test_a_request_for_none_still_needs_a_healthy_device(rig: Any, pod_of: Any) -> None:
    """DP-KUB-062."""
    rig.plugin([Device("a", "Unhealthy")])
    assert "no healthy device" in rig.admit(pod_of("u1", 0)).message
    rig.lists(["a"])
    assert rig.admit(pod_of("u2", 0)).accepted
    assert rig.calls == []


def test_a_resource_that_nobody_registered_is_ignored(rig: Any, pod_of: Any) -> None:
    """DP-KUB-063: the pod runs without it."""
    assert rig.admit(pod_of("u1", 5)).accepted
    assert rig.ids("u1", "c0") == set()


def test_a_resource_that_was_removed_but_is_held_is_refused(rig: Any, pod_of: Any) -> None:
    """Once allocated, it stays one of ours as long as somebody has a device of it."""
    connection = rig.plugin(["a", "b"])
    rig.admit(pod_of("u1", 1))
    rig.tables.endpoints.ended(connection)
    rig.clock.now += 301
    rig.state.count()
    assert "not registered" in rig.admit(pod_of("u2", 1)).message


def test_a_request_cannot_change(rig: Any, pod_of: Any) -> None:
    """DP-KUB-065."""
    rig.plugin(["a", "b"])
    rig.admit(pod_of("u1", 1))
    assert "asks for 2 of example.com/gpu but was given 1" in rig.admit(pod_of("u1", 2)).message


def test_too_few_devices_are_named_by_number(rig: Any, pod_of: Any) -> None:
    """The message tells what was to be had."""
    rig.plugin(["a", "b", Device("c", "Unhealthy")])
    rig.admit(pod_of("u1", 1))
    assert "2 devices requested, 1 available" in rig.admit(pod_of("u2", 2)).message


def test_a_recorded_device_that_fell_ill_fails_an_admission(rig: Any, pod_of: Any) -> None:
    """As after a reboot, when pods are admitted again."""
    rig.plugin(["a", "b"])
    rig.admit(pod_of("u1", 1))
    rig.lists([Device("a", "Unhealthy"), "b"])
    assert "devices a of example.com/gpu, allocated before" in rig.admit(pod_of("u1", 1)).message


def test_a_stopped_plugin_is_not_called(rig: Any, pod_of: Any) -> None:
    """A list that came late makes devices healthy, but nobody answers for them."""
    connection = rig.plugin(["a", "b"], preferred=True)
    rig.tables.endpoints.ended(connection)
    rig.lists(["a", "b"])
    assert "has stopped" in rig.admit(pod_of("u1", 1)).message
    connection.options = type(connection.options)()
    assert "has stopped" in rig.admit(pod_of("u2", 1)).message
    assert rig.effects(Allocate) == []


def test_a_checkpoint_that_cannot_be_written_fails_the_pod(rig: Any, pod_of: Any) -> None:
    """DP-KUB-058: what the plugin did is not undone."""
    rig.plugin(["a"])
    rig.written = [OSError(30, "Read-only file system")]
    assert "checkpoint could not be written" in rig.admit(pod_of("u1", 1)).message
    assert rig.ids("u1", "c0") == {"a"}


def test_a_device_that_leaves_during_allocate_is_recorded_whole(rig: Any, pod_of: Any) -> None:
    """DP-KUB-068: without a place; and a note says what kubelet 1.37 makes of it."""
    rig.plugin([Device("a", nodes=(0,))])
    rig.during_allocate = lambda: rig.lists([])
    rig.admit(pod_of("u1", 1))
    assert rig.tables.records.get("u1", "c0", R).ids_by_node == {-1: ("a",)}
    assert "left the list" in rig.notes[0]


def test_a_kubelet_that_dies_of_it_says_so(kubelet: Any, pod_of: Any) -> None:
    """DP-KUB-068 in 1.37, for those who want to see it."""
    rig = kubelet(settings={"vanished_device_kills": True})
    rig.plugin(["a"])
    rig.during_allocate = lambda: rig.lists([])
    with pytest.raises(Died, match="list them as Unhealthy"):
        rig.admit(pod_of("u1", 1))


def test_what_dra_provides_is_no_business_of_a_plugin(kubelet: Any) -> None:
    """DP-KUB-073: since 1.36."""
    pod = Pod("u1", (Container("c", {R: 1}, claimed=frozenset({R})),))
    for profile, calls in (("1.37", 0), ("1.35", 1)):
        rig = kubelet(profile)
        rig.plugin(["a"])
        assert rig.admit(pod).accepted
        assert len(rig.effects(Allocate)) == calls


def test_calls_of_the_plugin_may_be_answered_by_hand(rig: Any, pod_of: Any) -> None:
    """A flow is a generator: whoever holds it decides what the plugin says."""
    rig.plugin(["a"])
    flow = rig.state.admissions.admit(pod_of("u1", 1))
    call = next(flow)
    assert isinstance(call, Allocate)
    assert isinstance(flow.send((ContainerResponse(),)), WriteCheckpoint)
    with pytest.raises(StopIteration) as stop:
        flow.send(None)
    assert stop.value.value.accepted


def test_a_plugin_forgotten_while_it_was_asked_gets_no_allocate(rig: Any, pod_of: Any) -> None:
    """Five minutes can pass during a call that has no deadline."""
    connection = rig.plugin(["a", "b"], preferred=True)
    flow = rig.state.admissions.admit(pod_of("u1", 1))
    assert isinstance(next(flow), GetPreferredAllocation)
    rig.tables.endpoints.ended(connection)
    rig.clock.now += 301
    rig.state.count()
    with pytest.raises(StopIteration) as stop:
        flow.send((("a",),))
    assert "has no plugin" in stop.value.value.message
    assert rig.in_use() == set()


def test_ten_thousand_devices_take_one_call_each(kubelet: Any, pod_of: Any) -> None:
    """DP-KUB-018: all of them available, and named once."""
    rig = kubelet(policy=TopologyPolicy("restricted", (0, 1)))
    rig.plugin((Device(f"d{n}", nodes=(n % 2,)) for n in range(10_000)), preferred=True)
    assert rig.admit(pod_of("u1", 4000)).accepted
    (question,) = rig.effects(GetPreferredAllocation)
    (call,) = rig.effects(Allocate)
    assert len(question.available) == 5000
    assert len({*call.ids}) == 4000
