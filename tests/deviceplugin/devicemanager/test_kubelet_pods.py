"""Pods on the fake kubelet: which calls they cause, and how they fare (DP-KUB-032 to 051)."""

from __future__ import annotations

import threading

import attrs
import pytest

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.kubelet import Admission, Container, FakeKubelet, NotStarted, Pod
from refimpl.deviceplugin.profiles import settings_of
from refimpl.deviceplugin.state.allocate import Died
from refimpl.wire.status import Code
from tests.deviceplugin.conftest import Kubelets, Plugins
from tests.deviceplugin.devicemanager.test_kubelet_lists import device
from tests.deviceplugin.kubelet_rig import GPU, NIC, Scripted, pod


def ids_of(request: pb.AllocateRequest) -> set[str]:
    [one] = request.container_requests
    return {*one.devices_ids}


def test_each_container_is_one_call_with_one_request(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-032 to 034: ids of two containers are disjoint, and kubelet sets no deadline."""
    gpu, nic = scripted().join(kubelet, "a", "b", "c"), scripted("n.sock", NIC).join(kubelet, "n")
    asking = pod(app=(Container("one", {GPU: 1, NIC: 1}), Container("two", {GPU: 2})))
    assert kubelet.admit(asking).accepted
    first, second = map(ids_of, gpu.asked["Allocate"])
    assert len(first) == 1
    assert first | second == {"a", "b", "c"}
    assert [ids_of(request) for request in nic.asked["Allocate"]] == [{"n"}]
    assert kubelet.allocated(asking.uid, "two", GPU) == second


def test_a_real_kubelets_endless_patience_can_be_had(kubelets: Kubelets, scripted: Plugins) -> None:
    """Contract 1.3: no deadline for Allocate."""
    kubelet = kubelets(patience_s=float("inf"))
    scripted().join(kubelet, "a")
    kubelet.admit(pod())
    [call] = kubelet.journal.calls("Allocate")
    assert call.deadline_s is None


def test_what_the_plugin_answered_is_in_the_admission(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-037, 049 to 051: the first response, before the pod's own, and below kubelet's own."""
    plugin = scripted().join(kubelet, "a")
    reply = pb.AllocateResponse()
    own = "io.kubernetes.container.restartCount"
    reply.container_responses.add(
        envs={"X": "plugin"},
        annotations={own: "7", "example.com/a": "b"},
        cdi_devices=[pb.CDIDevice(name="example.com/gpu=a")] * 2,
        mounts=[pb.Mount(container_path="/m", host_path="/usr", read_only=True)],
        devices=[pb.DeviceSpec(container_path="/d", host_path="/dev/null", permissions="rw")],
    )
    reply.container_responses.add(envs={"X": "surplus"})
    plugin.answers = lambda _: reply
    outcome = kubelet.admit(asking := pod())
    assert outcome.configs["app"]["envs"] == [{"key": "X", "value": "plugin"}]
    started = kubelet.start_container(
        asking.uid, "app", {"envs": [{"key": "X", "value": "pod"}], "image": {"image": "i"}}
    )
    assert [env["value"] for env in started["envs"]] == ["plugin", "pod"]
    assert started["annotations"] == {own: "0", "example.com/a": "b"}
    assert started["CDI_devices"] == [{"name": "example.com/gpu=a"}]
    assert started["image"] == {"image": "i"}
    [mount] = started["mounts"]
    assert mount == {"container_path": "/m", "host_path": "/usr", "readonly": True}
    assert [each["container_path"] for each in started["devices"]] == ["/d"]


def test_a_pod_whose_allocate_fails_is_failed_for_good(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-035: its devices are free again, and nobody tries a second time."""
    plugin = scripted().join(kubelet, "a")
    plugin.refused["Allocate"] = Code.INTERNAL
    outcome = kubelet.admit(refused := pod())
    assert (outcome.accepted, outcome.reason) == (False, "UnexpectedAdmissionError")
    assert "as scripted" in outcome.message
    assert kubelet.status(refused.uid)["phase"] == "Failed"
    assert len(plugin.asked["Allocate"]) == 1
    with pytest.raises(ValueError, match="final"):
        kubelet.admit(refused)
    with pytest.raises(NotStarted, match="Failed"):
        kubelet.start_container(refused.uid, "app")
    plugin.refused.clear()
    assert kubelet.admit(pod()).accepted


def test_an_answer_without_containers_fails_the_pod_and_leaks(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-036: until a pod that holds devices has left."""
    plugin = scripted().join(kubelet, "a", "b")
    kubelet.admit(holder := pod())
    answers, plugin.answers = plugin.answers, lambda _: pb.AllocateResponse()
    assert not kubelet.admit(pod()).accepted
    plugin.answers = answers
    assert not kubelet.admit(pod()).accepted, "leaked"
    kubelet.remove(holder.uid)
    assert kubelet.admit(pod({GPU: 2})).accepted


def test_the_plugin_is_asked_what_it_prefers_if_it_says_so(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-039, 041: unknown ids are dropped, and missing ones filled in."""
    plugin = scripted()
    plugin.options.get_preferred_allocation_available = True
    preferred = pb.PreferredAllocationResponse()
    preferred.container_responses.add(deviceIDs=["c", "x"])
    plugin.preferred = lambda _: preferred
    plugin.join(kubelet, "a", "b", "c")
    assert kubelet.admit(pod({GPU: 2})).accepted
    [request] = plugin.asked["GetPreferredAllocation"]
    [wanted] = request.container_requests
    assert {*wanted.available_deviceIDs} == {"a", "b", "c"}
    assert (list(wanted.must_include_deviceIDs), wanted.allocation_size) == ([], 2)
    assert "c" in ids_of(plugin.asked["Allocate"][0])


def test_an_error_of_the_preference_fails_the_pod(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-040: without an Allocate."""
    plugin = scripted()
    plugin.options.get_preferred_allocation_available = True
    plugin.refused["GetPreferredAllocation"] = Code.INTERNAL
    plugin.join(kubelet, "a")
    assert kubelet.admit(pod()).reason == "UnexpectedAdmissionError"
    assert "Allocate" not in plugin.asked


def test_every_start_of_a_container_is_prepared(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-042 to 045: PreStartContainer within 30 s, with the ids of the one Allocate."""
    plugin = scripted()
    plugin.options.pre_start_required = True
    plugin.join(kubelet, "a")
    kubelet.admit(asking := pod())
    plugin.refused["PreStartContainer"] = Code.INTERNAL
    with pytest.raises(NotStarted, match="as scripted"):
        kubelet.start_container(asking.uid, "app")
    [status] = kubelet.status(asking.uid)["containerStatuses"]
    assert status["state"]["waiting"]["reason"] == "CreateContainerConfigError"
    plugin.refused.clear()
    kubelet.start_container(asking.uid, "app")
    again = kubelet.restart_container(asking.uid, "app")
    assert again["metadata"]["attempt"] == 1
    assert [list(each.devices_ids) for each in plugin.asked["PreStartContainer"]] == [["a"]] * 3
    assert len(plugin.asked["Allocate"]) == 1
    assert {call.deadline_s for call in kubelet.journal.calls("PreStartContainer")} == {30.0}
    [status] = kubelet.status(asking.uid)["containerStatuses"]
    assert status["state"] == {"running": {}}


def test_a_slow_start_does_not_hold_up_admission(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """Containers start side by side."""
    plugin = scripted()
    plugin.options.pre_start_required = True
    plugin.join(kubelet, "a", "b")
    kubelet.admit(asking := pod())
    plugin.held.add("PreStartContainer")
    starting = threading.Thread(target=kubelet.start_container, args=[asking.uid, "app"])
    starting.start()
    plugin.wait_for("PreStartContainer")
    assert kubelet.admit(pod()).accepted
    plugin.release()
    starting.join()
    assert kubelet.workload[asking.uid].running == {"app"}


def test_a_hung_allocate_stalls_all_admission_until_its_plugin_answers(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-025, issue 117435: of other resources, too."""
    hung, other = scripted(), scripted("n.sock", NIC)
    hung.join(kubelet, "a")
    other.join(kubelet, "n")
    hung.held.add("Allocate")
    outcomes: list[Admission] = []
    first = _admitting(kubelet, pod(), outcomes)
    hung.wait_for("Allocate")
    second = _admitting(kubelet, pod({NIC: 1}), outcomes)
    assert "Allocate" not in other.asked
    hung.release()
    first.join()
    second.join()
    assert [each.accepted for each in outcomes] == [True, True]


def test_a_plugin_that_never_answers_costs_our_patience(
    kubelets: Kubelets, scripted: Plugins
) -> None:
    """A real kubelet waits on."""
    kubelet = kubelets(patience_s=0.1)
    plugin = scripted().join(kubelet, "a")
    plugin.held.add("Allocate")
    outcome = kubelet.admit(pod())
    assert not outcome.accepted
    assert "DEADLINE_EXCEEDED" in outcome.message


def test_the_end_of_kubelet_frees_whoever_waits_for_a_plugin(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """The pod is judged by the next kubelet."""
    plugin = scripted().join(kubelet, "a")
    plugin.held.add("Allocate")
    failures: list[str] = []

    def admit() -> None:
        with pytest.raises(RuntimeError) as failure:
            kubelet.admit(asking)
        failures.append(str(failure.value))

    asking = pod()
    waiting = threading.Thread(target=admit)
    waiting.start()
    plugin.wait_for("Allocate")
    kubelet.kill()
    waiting.join()
    assert "kubelet ended" in failures[0]
    assert kubelet.workload[asking.uid].phase == "Pending"


def test_devices_are_free_again_when_the_pod_has_left(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-046: deleted or finished; the plugin hears nothing of it."""
    plugin = scripted().join(kubelet, "a")
    kubelet.admit(first := pod())
    kubelet.start_container(first.uid, "app")
    assert not kubelet.admit(pod()).accepted
    kubelet.finish(first.uid)
    assert kubelet.status(first.uid)["phase"] == "Succeeded"
    kubelet.admit(second := pod())
    kubelet.remove(second.uid)
    assert kubelet.admit(pod()).accepted
    assert [ids_of(request) for request in plugin.asked["Allocate"]] == [{"a"}] * 3
    with pytest.raises(LookupError, match="admit it first"):
        kubelet.remove(second.uid)


def test_the_request_of_a_container_cannot_change(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-065."""
    scripted().join(kubelet, "a", "b")
    kubelet.admit(pod(uid="same"))
    outcome = kubelet.admit(pod({GPU: 2}, uid="same"))
    assert outcome.reason == "UnexpectedAdmissionError"
    assert "cannot change" in outcome.message


def test_a_resource_nobody_has_is_left_out(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-062, 063: but a known one without healthy devices refuses even a request for none."""
    assert kubelet.admit(pod({"example.com/never": 3})) == Admission(True)
    scripted().join(kubelet)
    assert not kubelet.admit(pod({GPU: 0})).accepted


def test_the_topology_policy_refuses_by_its_own_reason(
    kubelets: Kubelets, scripted: Plugins
) -> None:
    """Contract 2.11: three devices lie on no single node; two do, and without a question."""
    kubelet = kubelets(nodes=2, policy="single-numa-node")
    plugin = scripted()
    plugin.options.get_preferred_allocation_available = True
    plugin.serve()
    plugin.enrol(kubelet)
    plugin.send(*(device(f"d{n}", "Healthy", n // 2) for n in range(4)))
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 4})
    assert kubelet.admit(pod({GPU: 3})).reason == "TopologyAffinityError"
    assert kubelet.admit(pod({GPU: 2})).accepted
    assert ids_of(plugin.asked["Allocate"][0]) in ({"d0", "d1"}, {"d2", "d3"})
    assert "GetPreferredAllocation" not in plugin.asked


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"policy": "best"}, "no topology policy"),
        ({"policy": "restricted", "nodes": 9}, "9 NUMA nodes"),
        ({"profile": "1.20"}, "1.37"),
        ({"options": {"unheard-of": "x"}}, "unheard-of"),
        ({"options": {"prefer-closest-numa-nodes": "true"}}, "distances"),
        ({"scope": "node"}, "container or pod"),
        ({"gates": {"NoGate": True}}, "NoGate"),
    ],
)
def test_a_configuration_that_kubelet_would_refuse_is_refused(
    folder: object, choices: dict[str, object], reason: str
) -> None:
    """TM-040 and its like: before anything is made."""
    with pytest.raises(ValueError, match=reason):
        FakeKubelet(str(folder), **choices)  # type: ignore[arg-type]


def test_health_is_in_the_status_of_the_pods(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-060, 061, 069: by resource, and a device that vanishes shows as healthy."""
    gpu, nic = scripted().join(kubelet, "a"), scripted("n.sock", NIC).join(kubelet, "a")
    kubelet.admit(first := pod())
    kubelet.admit(second := pod({NIC: 1}))
    gpu.send(device("a", "Unhealthy"))
    assert kubelet.wait(lambda: kubelet.refreshed == [first.uid])
    assert _health(kubelet, first) == {"a": "Unhealthy"}
    assert _health(kubelet, second) == {"a": "Healthy"}
    gpu.send("other")
    assert kubelet.wait(lambda: "other" in kubelet.devices(GPU))
    assert _health(kubelet, first) == {"a": "Healthy"}
    nic.end()
    assert kubelet.wait(lambda: kubelet.node().allocatable[NIC] == 0)
    assert kubelet.refreshed == [first.uid]


def test_without_the_gate_there_is_no_health(kubelets: Kubelets, scripted: Plugins) -> None:
    """1.35 and before, unless it is switched on."""
    kubelet = kubelets(profile="1.35")
    scripted().join(kubelet, "a")
    kubelet.admit(asking := pod())
    [status] = kubelet.status(asking.uid)["containerStatuses"]
    assert "allocatedResourcesStatus" not in status


def test_a_device_that_vanishes_in_its_allocate_is_survived(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-068: the pod is admitted, the record whole."""
    plugin = scripted().join(kubelet, "a")
    plugin.before_answer = lambda: _vanish(plugin, kubelet)
    assert kubelet.admit(asking := pod()).accepted
    assert kubelet.allocated(asking.uid, "app", GPU) == {"a"}
    assert any("left the list" in note for note in kubelet.notes)


def test_a_kubelet_may_be_asked_to_die_of_it(kubelets: Kubelets, scripted: Plugins) -> None:
    """DP-KUB-068, as 1.37.2 does; the next one starts from what was on disk."""
    kubelet = kubelets(settings=attrs.evolve(settings_of(), vanished_device_kills=True))
    plugin = scripted().join(kubelet, "a")
    plugin.before_answer = lambda: _vanish(plugin, kubelet)
    with pytest.raises(Died, match="left the list"):
        kubelet.admit(pod())
    with pytest.raises(RuntimeError, match="no kubelet runs"):
        kubelet.node()
    kubelet.start()
    assert kubelet.node().allocatable == {GPU: 0}


def test_pod_level_resources_are_allocated_at_the_start(
    kubelets: Kubelets, scripted: Plugins
) -> None:
    """DP-KUB-070, 071: behind a gate, under pod scope; a failure makes the container wait."""
    gates = {"PodLevelResourceManagers": True}
    kubelet = kubelets(gates=gates, policy="best-effort", scope="pod")
    plugin = scripted().join(kubelet, "a")
    plugin.refused["Allocate"] = Code.INTERNAL
    outcome = kubelet.admit(asking := pod(pod_level=True))
    assert outcome == Admission(True)
    for _ in range(2):
        with pytest.raises(NotStarted, match="as scripted"):
            kubelet.start_container(asking.uid, "app")
    plugin.refused.clear()
    kubelet.start_container(asking.uid, "app")
    assert len(plugin.asked["Allocate"]) == 3
    assert kubelet.status(asking.uid)["phase"] == "Running"


def _admitting(kubelet: FakeKubelet, pod: Pod, outcomes: list[Admission]) -> threading.Thread:
    thread = threading.Thread(target=lambda: outcomes.append(kubelet.admit(pod)))
    thread.start()
    return thread


def _vanish(plugin: Scripted, kubelet: FakeKubelet) -> None:
    plugin.send("b")
    assert kubelet.wait(lambda: "b" in kubelet.devices(GPU))


def _health(kubelet: FakeKubelet, pod: Pod) -> dict[str, str]:
    [status] = kubelet.status(pod.uid)["containerStatuses"]
    [resource] = status["allocatedResourcesStatus"]
    return {each["resourceID"]: each["health"] for each in resource["resources"]}
