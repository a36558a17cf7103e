"""CreateContainer."""

from __future__ import annotations

from conformance.cri.needs import IMAGE
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused

_ABSENT = "registry.invalid/refimpl/no-such:1"


@case("CRI-CT-001", "CRI v1 CreateContainer", needs=[IMAGE])
def test_a_new_container_is_created_and_listed(cri: CriTarget) -> None:
    """Nothing has happened yet that a time could be told of."""
    container = cri.pods.shared().create()
    status, item = container.status(), container.listed()
    states = (status.state, item.state if item else None)
    wanted = (pb.CONTAINER_CREATED, pb.CONTAINER_CREATED)
    expect(states == wanted, "status and list tell CREATED", wanted=wanted, got=states)
    later = (status.started_at, status.finished_at, status.exit_code)
    expect(later == (0, 0, 0), "what is to come is 0", wanted=(0, 0, 0), got=later)


@case("CRI-CT-002", "CRI v1 ContainerStatus.annotations: as they were given", needs=[IMAGE])
def test_metadata_labels_and_annotations_come_back_as_they_were(cri: CriTarget) -> None:
    """Kubelet keeps the hash of the container in them, and restarts it where that differs."""
    labels, notes = {"a": "1", "empty": ""}, {"example.com/hash": "12ab", "text": "ü\n"}
    container = cri.pods.shared().create("named", attempt=3, labels=labels, annotations=notes)
    for what, shown in (("status", container.status()), ("list", container.listed())):
        assert shown is not None
        metadata = (shown.metadata.name, shown.metadata.attempt)
        got = (metadata, dict(shown.labels), dict(shown.annotations))
        wanted = (("named", 3), labels, notes)
        expect(got == wanted, f"{what} has all as given", wanted=wanted, got=got)


@case("CRI-CT-003", "containerd, CRI-O: a container needs a sandbox", needs=[IMAGE])
def test_a_container_of_an_unknown_sandbox_is_refused(cri: CriTarget) -> None:
    """Kubelet makes another sandbox then."""
    request = cri.pods.shared().request()
    request.pod_sandbox_id = cri.pods.unknown_id()
    expect_refusal(
        lambda: cri.runtime.CreateContainer(request),
        "an unknown sandbox is refused",
        preferred={Code.NOT_FOUND},
    )


@case("CRI-CT-004", "containerd, CRI-O: CreateContainer pulls nothing")
def test_an_image_that_is_absent_is_refused(cri: CriTarget) -> None:
    """Pulling is kubelet's to decide: imagePullPolicy Never would mean nothing."""
    pod = cri.pods.shared()
    expect_refusal(lambda: pod.create(image=_ABSENT), "an image that is not there is refused")
    expect(
        cri.kubelet.image_status(_ABSENT) is None, "it was not pulled", wanted="none", got=_ABSENT
    )


@case("CRI-CT-005", "robustness: messages with nothing in them", needs=[IMAGE])
def test_a_request_without_its_parts_is_refused(cri: CriTarget) -> None:
    """A client with a bug must not take the runtime of the node with it."""
    pod = cri.pods.shared()
    for field in ("config", "metadata", "sandbox_config"):
        request = pod.request()
        (request.config if field == "metadata" else request).ClearField(field)  # type: ignore[arg-type]
        expect_refusal(
            lambda request=request: cri.runtime.CreateContainer(request),  # type: ignore[misc]
            f"a request without {field} is refused",
        )
    expect(cri.kubelet.version(), "the runtime still answers", wanted="a version", got="nothing")


@case("CRI-CT-006", "CRI v1 ContainerMetadata: the name of one container", needs=[IMAGE])
def test_the_same_metadata_never_make_two_containers(cri: CriTarget) -> None:
    """Kubelet repeats a call whose answer was lost."""
    pod = cri.pods.shared()
    first = pod.create("same")
    try:
        second = pod.create("same").id
    except Refused:
        second = first.id
    expect(second == first.id, "the answer is an error or the same id", wanted=first.id, got=second)
    listed = cri.kubelet.list_containers(sandbox_id=pod.id)
    same = [each.id for each in listed if each.metadata.name == "same"]
    expect(same == [first.id], "one container has the metadata", wanted=[first.id], got=same)


@case("CRI-CT-007", "kubelet: a container that is restarted has the next attempt", needs=[IMAGE])
def test_the_next_attempt_is_another_container(cri: CriTarget) -> None:
    """While the one before is still there, for its logs and its exit code."""
    pod = cri.pods.shared()
    first = pod.run("again")
    second = pod.create("again", attempt=1)
    expect(second.id != first.id, "it has an id of its own", wanted="another id", got=second.id)


@case("CRI-CT-008", "containerd, CRI-O: a removed container frees its name", needs=[IMAGE])
def test_the_name_of_a_removed_container_is_free(cri: CriTarget) -> None:
    """What was not cleaned up would keep it from being made again."""
    pod = cri.pods.shared()
    first = pod.create("free")
    first.remove()
    second = pod.create("free")
    expect(second.id != first.id, "it is a new container", wanted="another id", got=second.id)


@case("CRI-CT-032", "containerd: InvalidArgument", needs=[IMAGE])
def test_a_stop_signal_that_is_none_is_refused(cri: CriTarget) -> None:
    """It must not be found out when the container is to be stopped."""
    pod = cri.pods.shared()
    request = pod.request("signalled")
    request.config.stop_signal = 999  # type: ignore[assignment]
    expect_refusal(
        lambda: pod.ask(request),
        "a Signal of an unknown number is refused",
        preferred={Code.INVALID_ARGUMENT},
    )
    _expect_none(cri, pod.id, "signalled")


@case("CRI-CT-070", "robustness: CreateContainerRequest.sandbox_config", needs=[IMAGE])
def test_a_container_needs_the_configuration_of_its_sandbox(cri: CriTarget) -> None:
    """It has the directory of the logs."""
    pod = cri.pods.shared()
    request = pod.request("bare")
    request.ClearField("sandbox_config")
    expect_refusal(lambda: pod.ask(request), "a request without sandbox_config is refused")
    _expect_none(cri, pod.id, "bare")


@case("CRI-CT-071", "cri-client: one without a name is refused by every client", needs=[IMAGE])
def test_a_container_has_a_name(cri: CriTarget) -> None:
    """cri-client refuses each status of one that has none."""
    pod = cri.pods.shared()
    request = pod.request()
    request.config.metadata.name = ""
    expect_refusal(lambda: pod.ask(request), "metadata without a name are refused")


def _expect_none(cri: CriTarget, sandbox_id: str, name: str) -> None:
    listed = cri.kubelet.list_containers(sandbox_id=sandbox_id)
    same = [each.id for each in listed if each.metadata.name == name]
    expect(not same, "nothing is listed of it", wanted=[], got=same)
