"""What the API server would say of pods."""

from __future__ import annotations

import pytest

from refimpl.deviceplugin.devicemanager.workload import PodRun, Workload, base_config
from refimpl.deviceplugin.state.models import Container, Pod

POD = Pod("u", app=(Container("app"),), init=(Container("setup"),))


def test_a_container_is_creating_waiting_running_or_terminated() -> None:
    """In the words of the API."""
    run = PodRun(POD)

    def state() -> object:
        [status] = run.status({})["containerStatuses"]
        return status["state"]

    assert state() == {"waiting": {"reason": "ContainerCreating"}}
    run.waiting["app"] = "CreateContainerConfigError: no: plugin"
    assert state() == {"waiting": {"reason": "CreateContainerConfigError", "message": "no: plugin"}}
    run.started("app")
    assert state() == {"running": {}}
    run.end("Failed", "Evicted", "gone")
    assert state() == {"terminated": {}}
    assert {key: run.status({})[key] for key in ("phase", "reason", "message")} == {
        "phase": "Failed",
        "reason": "Evicted",
        "message": "gone",
    }


def test_a_pod_is_pending_until_its_own_containers_run() -> None:
    """Init containers come before."""
    run = PodRun(POD)
    run.started("setup")
    assert run.status({})["phase"] == "Pending"
    run.started("app")
    assert run.status({})["phase"] == "Running"


def test_health_stands_beside_the_container_that_has_the_device() -> None:
    """As allocatedResourcesStatus; init containers have no status here."""
    [status] = PodRun(POD).status({"app": {"r/x": {"a": "Unhealthy"}}})["containerStatuses"]
    assert status["allocatedResourcesStatus"] == [
        {"name": "r/x", "resources": [{"resourceID": "a", "health": "Unhealthy"}]}
    ]


def test_pods_are_known_by_uid_until_they_are_removed() -> None:
    """Another version of a pod does not stop what runs of it."""
    workload = Workload()
    workload.put(POD).started("app")
    workload.put(Pod("u", name="again"))
    assert workload["u"].pod.name == "again"
    assert workload.running() == {("u", "app")}
    workload["u"].end("Succeeded")
    assert (workload.pods(active=True), len([*workload.pods(active=False)])) == ([], 1)
    workload.remove("u")
    with pytest.raises(LookupError, match="'u'"):
        workload["u"]


def test_an_unknown_container_is_named_beside_those_there_are() -> None:
    """LookupError."""
    with pytest.raises(LookupError, match=r"'x'; it has setup, app"):
        PodRun(POD).container("x")


def test_kubelets_own_annotations_win() -> None:
    """DP-KUB-051: over those of whoever makes the configuration as well."""
    own = "io.kubernetes.container.restartCount"
    run = PodRun(POD, attempts={"app": 2})
    config = base_config(run, "app", {"annotations": {own: "9", "a": "b"}, "image": {}})
    assert config["annotations"] == {own: "2", "a": "b"}
    assert config["metadata"] == {"name": "app", "attempt": 2}
