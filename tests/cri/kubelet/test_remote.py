"""The calls of kubelet: to whom, with which deadline, and what comes of them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from refimpl import __version__
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.kubelet import RemoteRuntime, connect, container_config, info_of, sandbox_config
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.server import Server
from refimpl.wire.status import Code, Refused
from tests.cri.kubelet.conftest import Serving


def test_a_runtime_says_who_it_is_when_it_is_connected(
    runtime: RemoteRuntime, calls: list[Entry]
) -> None:
    """CRI: Version comes first."""
    assert (runtime.runtime_name, runtime.runtime_version) == ("refimpl", __version__)
    assert [call.rpc for call in calls] == ["Version"]
    assert runtime.version().runtime_name == "refimpl"
    assert runtime.endpoint.path.endswith("cri.sock")


def test_what_is_no_runtime_is_unreachable(tmp_path: Path) -> None:
    """Nobody there, or somebody who does not serve CRI; and what cannot be an endpoint."""
    with pytest.raises(Unreachable):
        connect(tmp_path / "none.sock", ready_s=0.01)
    server = Server({}, journal=Journal(), faults=Faults())
    server.start(Endpoint.parse(tmp_path / "other.sock"))
    try:
        with pytest.raises(Unreachable, match="does not serve the CRI"):
            connect(f"unix://{tmp_path}/other.sock")
    finally:
        server.stop()
    with pytest.raises(EndpointError):
        connect("ftp://x")


def test_deadlines_are_those_of_kubelet(serving: Serving, calls: list[Entry]) -> None:
    """runtimeRequestTimeout for all; twice that for a sandbox, the grace on top of it for a stop,
    the time of the command on top of it for ExecSync, none for an image."""
    runtime = serving(request_s=60.0)
    config = sandbox_config("pod")
    sandbox_id = runtime.run_pod_sandbox(config)
    image = runtime.pull_image("example.com/a:1", config)
    container_id = runtime.create_container(sandbox_id, container_config("main", image), config)
    runtime.start_container(container_id)
    for timeout_s in (0, 5):
        with contextlib.suppress(Refused):  # UNIMPLEMENTED in the fake, which has no processes
            runtime.exec_sync(container_id, ["true"], timeout_s)
    runtime.stop_container(container_id, 30)
    runtime.remove_pod_sandbox(sandbox_id)
    assert [(call.rpc, call.deadline_s) for call in calls] == [
        ("Version", 60.0),
        ("RunPodSandbox", 120.0),
        ("PullImage", None),
        ("CreateContainer", 60.0),
        ("StartContainer", 60.0),
        ("ExecSync", None),
        ("ExecSync", 65.0),
        ("StopContainer", 90.0),
        ("RemovePodSandbox", 60.0),
    ]


def test_a_caller_in_a_hurry_may_say_so(runtime: RemoteRuntime, calls: list[Entry]) -> None:
    """Its deadline is instead of kubelet's."""
    runtime.version(timeout=5)
    runtime.status(timeout=6)
    runtime.run_pod_sandbox(sandbox_config("pod"), timeout=7)
    assert [call.deadline_s for call in calls[1:]] == [5, 6, 7]


def test_sandboxes_are_listed_by_label_and_by_the_pods_uid(runtime: RemoteRuntime) -> None:
    """Also those without labels of kubelet, which CRI has no filter for."""
    first = runtime.run_pod_sandbox(sandbox_config("a", uid="uid-1"))
    second = runtime.run_pod_sandbox(sandbox_config("b", uid="uid-2", labels={"run": "1"}))

    def listed(labels: dict[str, str] | None = None, uid: str = "") -> list[str]:
        return [sandbox.id for sandbox in runtime.list_pod_sandboxes(labels, uid=uid)]

    assert listed() == [first, second]
    assert listed({"io.kubernetes.pod.uid": "uid-1"}) == listed(uid="uid-1") == [first]
    assert listed({"run": "1"}) == listed(uid="uid-2") == [second]
    assert listed({"run": "1"}, "uid-1") == []


def test_containers_are_listed_by_label_sandbox_and_state(runtime: RemoteRuntime) -> None:
    """CREATED, whose number is 0, is a state as well."""
    config = sandbox_config("pod")
    sandbox_id = runtime.run_pod_sandbox(config)
    image = runtime.pull_image("a")
    first, second = (
        runtime.create_container(sandbox_id, container_config(name, image), config)
        for name in ("first", "second")
    )
    runtime.start_container(first)

    def listed(
        labels: dict[str, str] | None = None,
        sandbox_id: str = "",
        state: pb.ContainerState.ValueType | None = None,
    ) -> list[str]:
        containers = runtime.list_containers(labels, sandbox_id=sandbox_id, state=state)
        return [container.id for container in containers]

    assert listed(sandbox_id=sandbox_id) == [first, second]
    assert listed({"io.kubernetes.container.name": "second"}) == [second]
    assert listed(state=pb.CONTAINER_CREATED) == [second]
    assert listed(state=pb.CONTAINER_RUNNING) == [first]


def test_an_image_that_is_not_there_is_none(serving: Serving) -> None:
    """Not an error: kubelet pulls it then."""
    runtime = serving("- {when: {method: ImageStatus, times: 1}, do: {mutate: {image: null}}}")
    assert runtime.image_status("example.com/a:1") is None
    present = runtime.image_status(runtime.pull_image("example.com/a:1"))
    assert present is not None
    assert [image.id for image in runtime.list_images()] == [present.id]


def test_verbose_replies_are_read(runtime: RemoteRuntime) -> None:
    """And what is no JSON object tells nothing."""
    config = sandbox_config("pod")
    sandbox_id = runtime.run_pod_sandbox(config)
    reply = runtime.pod_sandbox_status(sandbox_id, verbose=True)
    assert info_of(reply)["config"]["metadata"]["name"] == "pod"
    assert info_of(runtime.status(verbose=True), "config") == {"runtime": "refimpl"}
    assert info_of(runtime.status()) == {}
    for text in ("no JSON", "[1]"):
        assert info_of(pb.StatusResponse(info={"info": text})) == {}


def test_what_a_runtime_refuses_is_raised(runtime: RemoteRuntime) -> None:
    """With the code, by which kubelet tells a pod that is gone from a runtime that fails."""
    with pytest.raises(Refused) as caught:
        runtime.container_status("unknown")
    assert caught.value.code == Code.NOT_FOUND
