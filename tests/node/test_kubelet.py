"""Our kubelet with the pods of its node: what stays when it ends, and what choices change."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.engine.verdict import eventually
from refimpl.deviceplugin.kubelet import FakeKubelet
from refimpl.deviceplugin.profiles import settings_of
from refimpl.deviceplugin.state.settings import Settings
from refimpl.node.choices import KubeletChoices
from refimpl.node.kubelet import NodeKubelet
from refimpl.node.pods import PodSpec

POD = PodSpec("p", "u")


def settings(choices: KubeletChoices) -> Settings:
    return settings_of("1.37", choices.gates)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Kubelet's, with a short path."""
    with tempfile.TemporaryDirectory(prefix="kub-") as name:
        yield Path(name)


@pytest.fixture
def kubelet(folder: Path) -> Iterator[NodeKubelet]:
    """One that was not started yet."""
    kubelet = NodeKubelet(folder, settings)
    yield kubelet
    kubelet.close()


def phase(kubelet: NodeKubelet) -> str:
    """Of the pod; empty where it is not known."""
    state = kubelet.state(POD.uid)
    return state.phase if state else ""


def test_before_its_start_it_takes_no_pod(kubelet: NodeKubelet) -> None:
    """Nobody knows yet by which rules."""
    with pytest.raises(RuntimeError, match="call start"):
        kubelet.run(POD)
    with pytest.raises(RuntimeError, match="call start"):
        kubelet.reboot()


def test_what_was_known_of_a_pod_stays_known_when_it_ends(kubelet: NodeKubelet) -> None:
    """As the API server keeps it, until the pod is deleted."""
    kubelet.start()
    kubelet.run(POD)
    eventually(lambda: phase(kubelet) == "Running", 5, "the pod runs")
    kubelet.end()
    assert not kubelet.running()
    assert phase(kubelet) == "Running"
    kubelet.forget(POD.uid)
    assert kubelet.state(POD.uid) is None


def test_a_container_that_ends_is_started_again_with_what_it_was_given(
    kubelet: NodeKubelet,
) -> None:
    """Each start is counted, and its configuration kept."""
    kubelet.start()
    kubelet.run(POD)
    eventually(lambda: len(kubelet.configs(POD.uid, "main")) == 1, 5, "it is started")
    kubelet.exit(POD.uid, "main", 1)
    eventually(lambda: len(kubelet.configs(POD.uid, "main")) == 2, 5, "it is started again")
    attempts = [each["metadata"]["attempt"] for each in kubelet.configs(POD.uid, "main")]
    assert attempts == [0, 1]
    state = kubelet.state(POD.uid)
    assert state is not None
    assert state.containers["main"].restarts == 1


def test_after_a_reboot_containers_are_started_anew(kubelet: NodeKubelet) -> None:
    """No process has outlived it."""
    kubelet.start()
    kubelet.run(POD)
    eventually(lambda: phase(kubelet) == "Running", 5, "the pod runs")
    kubelet.end()
    kubelet.reboot()
    kubelet.start()
    eventually(lambda: len(kubelet.configs(POD.uid, "main")) == 2, 5, "it is started again")


def test_other_choices_are_another_device_manager(folder: Path) -> None:
    """Which is told before it starts; the same choices keep the one there is."""
    managers: list[FakeKubelet] = []
    kubelet = NodeKubelet(folder, settings, set_up=managers.append)
    for choices in (None, None, KubeletChoices(policy="best-effort")):
        kubelet.start(choices)
        kubelet.end()
    assert (len(managers), kubelet.starts) == (2, 3)
    assert kubelet.choices.policy == "best-effort"
    kubelet.close()


def test_choices_that_kubelet_refuses_leave_those_of_before(kubelet: NodeKubelet) -> None:
    """Nine NUMA nodes are too many for a policy."""
    nine = dict.fromkeys(range(9), (10,) * 9)
    with pytest.raises(ValueError, match="9 NUMA nodes are more than 8"):
        kubelet.start(KubeletChoices(policy="restricted", nodes=nine))
    assert kubelet.choices == KubeletChoices()
    assert not kubelet.running()
