"""Containers on their own, or the pod as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.deviceplugin.state.hints import Hint
from refimpl.deviceplugin.state.merge import TopologyPolicy
from refimpl.deviceplugin.state.models import Container, Device, Pod
from refimpl.deviceplugin.state.scopes import Scope, container_request

R = "example.com/gpu"
DEV2 = [Device(name, nodes=(node,)) for name, node in zip("abcd", (0, 0, 1, 1), strict=True)]


def test_by_container_each_finds_its_own_node(kubelet: Any, pod_of: Any) -> None:
    """Four devices on two nodes do for two containers of two."""
    rig = kubelet(policy=TopologyPolicy("single-numa-node", (0, 1)))
    rig.plugin(DEV2)
    assert rig.admit(pod_of("u1", 2, 2)).accepted
    assert {frozenset(rig.ids("u1", name)) for name in ("c0", "c1")} == {
        frozenset("ab"),
        frozenset("cd"),
    }


def test_by_pod_all_containers_have_to_fit_on_one_placement(kubelet: Any, pod_of: Any) -> None:
    """The same pod needs both nodes, and is refused for good."""
    rig = kubelet(policy=TopologyPolicy("single-numa-node", (0, 1)), scope="pod")
    rig.plugin(DEV2)
    admission = rig.admit(pod_of("u1", 2, 2))
    assert admission.reason == "TopologyAffinityError"
    assert "single-numa-node finds no placement for the pod" in admission.message
    assert rig.calls == []
    assert rig.admit(pod_of("u2", 1, 1)).accepted
    assert rig.ids("u2", "c0") | rig.ids("u2", "c1") == {"a", "b"}


def test_a_refused_container_leaves_the_earlier_ones_to_the_collector(
    kubelet: Any, pod_of: Any
) -> None:
    """Their devices are free for the next pod."""
    rig = kubelet(policy=TopologyPolicy("restricted", (0, 1)))
    rig.plugin(DEV2)
    admission = rig.admit(pod_of("u1", 1, 2, 1, 1))
    assert (admission.accepted, admission.reason) == (False, "TopologyAffinityError")
    assert "container c3" in admission.message
    assert len(rig.in_use()) == 4
    assert rig.admit(pod_of("u2", 4)).accepted


def test_a_placement_is_forgotten_with_its_pod() -> None:
    """Names of containers come again, in other pods."""
    scope = Scope(TopologyPolicy("best-effort", (0, 1)))
    pod = Pod("u1", (Container("c", {R: 1}),))
    scope.decide({R: [Hint(2, True)]}, pod, pod.app[0])
    assert scope.affinity("u1", "c") == 2
    assert scope.affinity("u2", "c") is None
    scope.forget("u1")
    assert scope.affinity("u1", "c") is None


@pytest.mark.parametrize("scope", ["container", "pod"])
def test_admitting_again_after_a_restart_places_as_before(
    kubelet: Any, pod_of: Any, scope: Any
) -> None:
    """Nothing is free, yet the pod keeps what it has."""
    rig = kubelet(policy=TopologyPolicy("restricted", (0, 1)), scope=scope)
    rig.plugin(DEV2[:2])
    assert rig.admit(pod_of("u1", 2)).accepted
    rig.calls.clear()
    assert rig.admit(pod_of("u1", 2)).accepted
    assert rig.calls == []


def test_other_resources_are_left_to_others() -> None:
    """Only what a plugin offers is asked for."""
    assert container_request(Container("c", {R: 1, "cpu": 2}), {R}) == {R: 1}
