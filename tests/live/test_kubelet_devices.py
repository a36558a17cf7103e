"""The fake device plugin before a real kubelet and containerd: its devices reach containers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from refimpl.deviceplugin.fake import FakePlugin, Register
from refimpl.deviceplugin.plugin.inventory import HEALTHY, UNHEALTHY
from refimpl.deviceplugin.plugin.personas import persona_of
from refimpl.node.pods import ContainerStatus, PodStatus
from tests.live.peers import Containerd
from tests.live.rigs.containerd_rig import ContainerdRig
from tests.live.rigs.kubelet_rig import KubeletRig
from tests.live.rigs.namespaces import why_not

pytestmark = pytest.mark.timeout(900)


@attrs.frozen
class Node:
    """A kubelet over a containerd that reads CDI files from `cdi`."""

    kubelet: KubeletRig
    cdi: Path

    def plugin(self, resource: str, devices: int | None = 2, **choices: Any) -> FakePlugin:
        """A plugin for this kubelet, not started."""
        return FakePlugin(resource, devices, folder=self.kubelet.folder, **choices)

    def offered(self, resource: str, *ids: str) -> None:
        """Waits until these devices, and no others of the resource, can be had."""
        kubelet = self.kubelet
        kubelet.until(lambda: kubelet.allocatable(resource) == sorted(ids), f"{resource}: {ids}")

    def phase(self, name: str, phase: str) -> PodStatus:
        """Waits for the phase of a pod and returns its state."""
        kubelet = self.kubelet
        kubelet.until(lambda: kubelet.pod(name).phase == phase, f"pod {name} is {phase}")
        return kubelet.pod(name)

    def health(self, name: str, resource: str) -> Mapping[str, str]:
        """Device and health as the status of the pod has them."""
        container = self.kubelet.pod(name).containers.get("main", ContainerStatus("main"))
        return container.health.get(resource, {})


@pytest.fixture(scope="module")
def node(
    kubernetes: Path,
    containerd: Containerd,
    cni_plugins: Path,
    busybox: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Node]:
    """One for all tests: each has a resource of its own."""
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("node")
    for each in (folder / "cdi", folder / "net"):
        each.mkdir()
    cri = {"enable_cdi": True, "cdi_spec_dirs": [str(folder / "cdi")]}
    with (
        ContainerdRig(
            containerd, busybox, bin_dirs=[cni_plugins], conf_dir=folder / "net", cri=cri
        ) as rig,
        KubeletRig(kubernetes, rig) as kubelet,
    ):
        yield Node(kubelet, folder / "cdi")


@pytest.mark.parametrize("register", ["push", "pull", "both"])
def test_a_pod_gets_a_device_and_its_health_shows(node: Node, register: Register) -> None:
    """Registered either way: allocated, injected, told by pod-resources and by the pod's status."""
    resource, name, kubelet = f"example.com/{register}", register, node.kubelet
    first, second = f"{register}-0", f"{register}-1"
    with node.plugin(resource, register=register) as plugin:
        assert plugin.wait_registered()
        node.offered(resource, first, second)
        kubelet.run_pod(name, {resource: 1})
        node.phase(name, "Running")
        (given,) = kubelet.assigned(name, resource)
        assert plugin.record.allocated == [(given,)]
        variable = f"REFIMPL_EXAMPLE_COM_{register.upper()}"
        assert kubelet.run_in(name, "/bin/sh", "-c", f"echo ${variable}").strip() == given
        assert kubelet.run_in(name, "/bin/ls", f"/dev/{given}").strip() == f"/dev/{given}"
        other = second if given == first else first
        for health, left in ((UNHEALTHY, [other]), (HEALTHY, [first, second])):
            plugin.set_health(given, health)
            node.offered(resource, *left)
            kubelet.until(
                lambda h=health: node.health(name, resource) == {given: h}, f"health {health}"
            )
        kubelet.remove_pod(name)
        assert plugin.registrations == (2 if register == "both" else 1)
    node.offered(resource)


def test_devices_come_and_go(node: Node) -> None:
    """Each list replaces the one before."""
    resource = "example.com/hot"
    with node.plugin(resource) as plugin:
        node.offered(resource, "hot-0", "hot-1")
        plugin.add("hot-2")
        plugin.remove("hot-0")
        node.offered(resource, "hot-1", "hot-2")


def test_ten_thousand_devices_arrive(node: Node) -> None:
    """In one message."""
    resource = "example.com/many"
    with node.plugin(resource, None, persona="many"):
        node.offered(resource, *(f"many-{number}" for number in range(10_000)))


def test_a_cdi_device_is_injected_by_the_runtime(node: Node) -> None:
    """The plugin only names it; kubelet passes the name on, containerd reads the file."""
    resource, kubelet = "example.com/cdi", node.kubelet
    with node.plugin(resource, 1, persona="cdi", cdi_dir=node.cdi):
        node.offered(resource, "cdi-0")
        kubelet.run_pod("cdi", {resource: 1})
        node.phase("cdi", "Running")
        assert kubelet.run_in("cdi", "/bin/ls", "/dev/cdi-0").strip() == "/dev/cdi-0"
        output = kubelet.run_in("cdi", "/bin/sh", "-c", "echo $REFIMPL_EXAMPLE_COM_CDI_CDI")
        assert output.strip() == "cdi-0"
        kubelet.remove_pod("cdi")


def test_mounts_and_annotations_reach_the_container(node: Node) -> None:
    """Of two plugins, merged into one container."""
    mounts, annotations, kubelet = "example.com/mounts", "example.com/notes", node.kubelet
    with (
        node.plugin(mounts, 1, persona="mounts"),
        node.plugin(annotations, 1, persona="annotations"),
    ):
        node.offered(mounts, "mounts-0")
        node.offered(annotations, "notes-0")
        kubelet.run_pod("merged", {mounts: 1, annotations: 1})
        node.phase("merged", "Running")
        assert kubelet.run_in("merged", "/bin/ls", "/mnt/mounts").strip()
        assert kubelet.config_of("merged")["annotations"][annotations] == "notes-0"
        kubelet.remove_pod("merged")


def test_a_plugin_that_dies_in_allocate_costs_the_pod_and_comes_back(node: Node) -> None:
    """DP-KUB-035 and its like: the refusal of the pod is final, the resource is there again."""
    resource, kubelet = "example.com/dying", node.kubelet
    with node.plugin(resource, 1, persona="dying") as plugin:
        node.offered(resource, "dying-0")
        kubelet.run_pod("dying", {resource: 1})
        assert node.phase("dying", "Failed").reason == "UnexpectedAdmissionError"
        assert plugin.wait_registered(2)
        node.offered(resource, "dying-0")
        kubelet.remove_pod("dying")


def test_a_lie_is_taken_for_the_truth_where_nobody_looks(node: Node) -> None:
    """2.2, 2.7: ids listed twice are taken as they come, foreign preferences are dropped."""
    resource, kubelet = "example.com/lie", node.kubelet
    with node.plugin(resource, 3, persona="lying") as plugin:
        kubelet.until(lambda: bool(kubelet.allocatable(resource)), "devices")
        kubelet.run_pod("lie", {resource: 1})
        node.phase("lie", "Running")
        assert plugin.journal.calls("GetPreferredAllocation")
        assert set(kubelet.assigned("lie", resource)) < {"lie-0", "lie-1", "lie-2"}
        kubelet.remove_pod("lie")


def test_a_slow_plugin_holds_its_pod_up_and_no_more(node: Node) -> None:
    """With PreStartContainer before the start, and a preference that is asked for."""
    resource, kubelet = "example.com/slow", node.kubelet
    slow = attrs.evolve(persona_of("slow"), delay_s=0.5)
    with node.plugin(resource, 2, persona=slow) as plugin:
        node.offered(resource, "slow-0", "slow-1")
        kubelet.run_pod("slow", {resource: 1})
        node.phase("slow", "Running")
        assert plugin.record.started == plugin.record.allocated != []
        kubelet.remove_pod("slow")


def test_plugins_outlive_kubelet(node: Node) -> None:
    """After a crash every plugin is back by itself, once, and a pod keeps its device."""
    kubelet, ways = node.kubelet, ("push", "pull")
    plugins = {way: node.plugin(f"example.com/r{way}", register=way) for way in ways}
    with plugins["push"] as push, plugins["pull"] as pull:
        assert push.wait_registered()
        assert pull.wait_registered()
        for way in ways:
            node.offered(f"example.com/r{way}", f"r{way}-0", f"r{way}-1")
        kubelet.run_pod("lasting", {"example.com/rpush": 1})
        node.phase("lasting", "Running")
        given = kubelet.assigned("lasting", "example.com/rpush")
        kubelet.restart()
        assert push.wait_registered(2)
        assert pull.wait_registered(2)
        for way in ways:
            node.offered(f"example.com/r{way}", f"r{way}-0", f"r{way}-1")
        node.phase("lasting", "Running")
        assert kubelet.assigned("lasting", "example.com/rpush") == given
        assert len(push.record.allocated) == 1
        accepted = [e for e in push.journal.calls("Register") if e.code.name == "OK"]
        assert len(accepted) == 2
        assert len({json.dumps(e.to_dict()["requests"]) for e in accepted}) == 2
        kubelet.remove_pod("lasting")
