"""GetContainerEvents, from which a kubelet with EventedPLEG knows what becomes of containers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from conformance.cri.events import subscribed
from conformance.cri.needs import EVENTS, IMAGE
from conformance.cri.pods import ContainerUnderTest, PodUnderTest
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb

_LIFE = ["CREATED", "STARTED", "STOPPED", "DELETED"]
_EXITS = ("/bin/sh", "-c", "exit 7")
_MANY, _SOME = 50, 20


def _lived(pod: PodUnderTest) -> ContainerUnderTest:
    """One that has ended, and is gone."""
    container = pod.run(command=_EXITS)
    container.ended()
    container.remove()
    return container


@case("CRI-EV-001", "CRI v1 ContainerEventType", needs=[IMAGE, EVENTS])
def test_a_life_is_told_in_order(cri: CriTarget) -> None:
    """Of a sandbox and of a container in it."""
    with subscribed(cri) as (client,):
        pod = cri.pods.run()
        container = _lived(pod)
        pod.stop()
        client.until(lambda: "STOPPED" in client.kinds(pod.id), "the sandbox is told to be stopped")
        pod.remove()
        client.until_deleted(container.id, pod.id)
        for what, id in (("container", container.id), ("sandbox", pod.id)):
            got = client.kinds(id)
            expect(got == _LIFE, f"the life of the {what} is told", wanted=_LIFE, got=got)


@case("CRI-EV-002", "CRI v1 ContainerEventResponse", needs=[IMAGE, EVENTS])
def test_each_event_says_of_what_and_when(cri: CriTarget) -> None:
    """Kubelet compares the times with those of its own lists."""
    with subscribed(cri) as (client,):
        pod = cri.pods.run()
        container = _lived(pod)
        client.until_deleted(container.id)
        events = client.of(container.id, "")
        nameless = [each for each in events if not each.container_id]
        expect(not nameless, "each event has an id", wanted=[], got=nameless)
        times = [each.created_at for each in events]
        made = pod.status().created_at
        expect(
            all(each >= made for each in times),
            "times are ns since the epoch",
            wanted=f">= {made}",
            got=times,
        )
        ordered = all(first <= second for first, second in pairwise(times))
        expect(ordered, "times do not go back", wanted=sorted(times), got=times)


@case("CRI-EV-003", "kubelet: the status is in the event", needs=[IMAGE, EVENTS])
def test_the_end_is_told_with_its_exit_code(cri: CriTarget) -> None:
    """Kubelet asks for no other."""
    with subscribed(cri) as (client,):
        container = cri.pods.shared().run(command=_EXITS)
        client.until(lambda: "STOPPED" in client.kinds(container.id), "the end is told")
        event = client.of(container.id)[client.kinds(container.id).index("STOPPED")]
        status = next((each for each in event.containers_statuses if each.id == container.id), None)
        expect(status, "its status is among containers_statuses", wanted=container.id, got=event)
        assert status is not None
        got = (pb.ContainerState.Name(status.state), status.exit_code)
        wanted = ("CONTAINER_EXITED", 7)
        expect(got == wanted, "it has exited, with its code", wanted=wanted, got=got)


@case("CRI-EV-004", "kubelet: the id of a sandbox", needs=[EVENTS])
def test_events_of_a_sandbox_have_its_id_and_its_status(cri: CriTarget) -> None:
    """Kubelet finds the pod by it."""
    with subscribed(cri) as (client,):
        pod = cri.pods.run()
        client.until(lambda: "STARTED" in client.kinds(pod.id), "the sandbox is told by its id")
        event = client.of(pod.id)[-1]
        got = event.pod_sandbox_status.metadata
        wanted = pod.config.metadata
        expect(got == wanted, "its status is in the event", wanted=wanted, got=got)


@case("CRI-EV-005", "CRI v1 GetContainerEvents: any number of clients", needs=[IMAGE, EVENTS])
def test_each_client_hears_all(cri: CriTarget) -> None:
    """crictl events beside a kubelet."""
    with subscribed(cri, 2) as clients:
        container = _lived(cri.pods.shared())
        for client in clients:
            client.until_deleted(container.id)
            got = client.kinds(container.id)
            expect(got == _LIFE, "each of two hears all", wanted=_LIFE, got=got)


@case("CRI-EV-006", "containerd: a slow client has a buffer of its own", needs=[IMAGE, EVENTS])
def test_a_client_that_does_not_read_holds_nothing_up(cri: CriTarget) -> None:
    """It may have died without a word."""
    deaf = cri.runtime.GetContainerEvents(pb.GetEventsRequest())
    try:
        pod = cri.pods.run()
        for _ in range(_SOME):
            _lived(pod)
        state = pod.status().state
        expect(state == pb.SANDBOX_READY, "the runtime answers", wanted=0, got=state)
    finally:
        deaf.cancel()


@case("CRI-EV-007", "gRPC: a client may leave", needs=[IMAGE, EVENTS])
def test_after_a_client_has_left_the_next_one_hears_all(cri: CriTarget) -> None:
    """Kubelet is restarted."""
    with subscribed(cri):
        _lived(cri.pods.shared())
    with subscribed(cri) as (client,):
        container = _lived(cri.pods.shared())
        client.until_deleted(container.id)
        got = client.kinds(container.id)
        expect(got == _LIFE, "the next client hears all", wanted=_LIFE, got=got)


@case("CRI-EV-008", "kubelet: nothing is lost", needs=[IMAGE, EVENTS])
def test_many_at_once_are_all_told(cri: CriTarget) -> None:
    """A node that has been drained fills up again."""
    with subscribed(cri) as (client,):
        pod = cri.pods.run()
        with ThreadPoolExecutor(8) as threads:
            ids = [each.id for each in threads.map(_lived, [pod] * _MANY)]
        client.until_deleted(*ids)
        lives = {id: client.kinds(id) for id in ids}
        odd = {id: life for id, life in lives.items() if life != _LIFE}
        expect(not odd, "each life is told whole", wanted=_LIFE, got=odd)


@case("CRI-EV-009", "containerd, CRI-O: also with its sandbox", needs=[IMAGE, EVENTS])
def test_what_goes_with_its_sandbox_is_told_to_be_gone(cri: CriTarget) -> None:
    """Kubelet would keep it for ever."""
    with subscribed(cri) as (client,):
        pod = cri.pods.run()
        container = pod.run()
        pod.remove()
        client.until_deleted(container.id)
