"""Events over the socket."""

from __future__ import annotations

import threading

from refimpl.cri.api import cri_pb2 as pb
from tests.cri.runtime_rig import RuntimeRig


def test_a_life_is_told_as_it_was_at_each_moment(rig: RuntimeRig) -> None:
    """Statuses are those of the moment, however late they are read."""
    listening = threading.Event()
    listen = rig.fake.state.core.listen

    def listened(*arguments: object) -> object:
        leave = listen(*arguments)  # type: ignore[arg-type]
        listening.set()
        return leave

    rig.fake.state.core.listen = listened  # type: ignore[method-assign, assignment]
    stream = rig.runtime.GetContainerEvents(pb.GetEventsRequest())
    events = iter(stream)
    first: list[pb.ContainerEventResponse] = []
    reader = threading.Thread(target=lambda: first.append(next(events)))
    reader.start()
    assert listening.wait(10)
    sandbox = rig.sandbox()
    container = rig.run(sandbox)
    rig.cri.stop_container(container, 0)
    rig.cri.remove_container(container)
    reader.join(10)
    heard = [*first, *(next(events) for _ in range(5))]
    stream.cancel()
    assert [(each.container_id, each.container_event_type) for each in heard] == [
        (sandbox, pb.CONTAINER_CREATED_EVENT),
        (sandbox, pb.CONTAINER_STARTED_EVENT),
        *((container, kind) for kind in range(4)),
    ]
    states = [[status.state for status in each.containers_statuses] for each in heard]
    assert states == [[], [], [0], [1], [2], []]
    assert all(each.pod_sandbox_status.id == sandbox for each in heard)


def test_a_runtime_may_serve_none() -> None:
    """CRI-O unless it is told to: the stream ends at once."""
    with RuntimeRig(profile="crio") as rig:
        assert [*rig.runtime.GetContainerEvents(pb.GetEventsRequest())] == []
