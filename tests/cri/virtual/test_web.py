"""Web servers of virtual containers at addresses of loopback."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator

import pytest

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state.ports import StartFailed
from refimpl.cri.virtual.web import Doors
from tests.cri.runtime_rig import RuntimeRig, container_config, sandbox_config

PORT = 8080


@pytest.fixture
def rig() -> Iterator[RuntimeRig]:
    """Its pods are on loopback."""
    with RuntimeRig(model_options={"network": "loopback"}) as rig:
        yield rig


def page(address: str, port: int) -> int:
    """The status of what is served there. Raises OSError."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"http://{address}:{port}", timeout=5) as reply:
        return int(reply.status)


def free_port() -> int:
    """One that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_it_is_there_while_its_container_runs(rig: RuntimeRig) -> None:
    """At the address of the pod and at the host port."""
    host = free_port()
    mapped = pb.PortMapping(container_port=PORT, host_port=host)
    pod = sandbox_config()
    pod.port_mappings.append(mapped)
    sandbox = rig.runtime.RunPodSandbox(pb.RunPodSandboxRequest(config=pod)).pod_sandbox_id
    web = container_config()
    web.command.extend(["httpd", "-f", "-p", str(PORT)])
    id = rig.run(sandbox, web)
    address = rig.runtime.PodSandboxStatus(
        pb.PodSandboxStatusRequest(pod_sandbox_id=sandbox)
    ).status.network.ip
    assert address.startswith("127.88.")
    assert (page(address, PORT), page("127.0.0.1", host)) == (200, 200)
    rig.runtime.StopContainer(pb.StopContainerRequest(container_id=id, timeout=0))
    with pytest.raises(OSError, match="refused"):
        page(address, PORT)


def test_a_port_that_is_taken_fails_the_start() -> None:
    """And what was had before is given back."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port, free = taken.getsockname()[1], free_port()
        with pytest.raises(StartFailed, match=f"listen at 127.0.0.1:{port}"):
            Doors([("127.0.0.1", free), ("127.0.0.1", port)])
    Doors([("127.0.0.1", free)]).close()


def test_another_network_there_is_not() -> None:
    """The message names those there are."""
    with pytest.raises(ValueError, match="nowhere and loopback"):
        RuntimeRig(model_options={"network": "cloud"})
