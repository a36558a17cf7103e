"""What first processes and commands find in a virtual container, over the socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.engine.verdict import eventually
from refimpl.cri.api import cri_pb2 as pb
from tests.cri.runtime_rig import IMAGE, RuntimeRig, container_config, sandbox_config


@pytest.fixture
def rig() -> Iterator[RuntimeRig]:
    """One that has ended with the test."""
    with RuntimeRig() as rig:
        yield rig


def container(rig: RuntimeRig, pod: pb.PodSandboxConfig | None = None, **more: object) -> str:
    """One that runs, with what these configurations add to the usual ones."""
    of_pod, own = sandbox_config(), container_config()
    of_pod.MergeFrom(pod or pb.PodSandboxConfig())
    own.MergeFrom(pb.ContainerConfig(**more))
    request = pb.RunPodSandboxRequest(config=of_pod)
    sandbox = rig.runtime.RunPodSandbox(request).pod_sandbox_id
    made = rig.runtime.CreateContainer(
        pb.CreateContainerRequest(pod_sandbox_id=sandbox, config=own, sandbox_config=of_pod)
    )
    rig.cri.start_container(made.container_id)
    return str(made.container_id)


def secured(**choices: object) -> pb.LinuxContainerConfig:
    """A security context."""
    return pb.LinuxContainerConfig(security_context=pb.LinuxContainerSecurityContext(**choices))


def said(rig: RuntimeRig, id: str, *words: str) -> str:
    """By a command in a container, on either stream."""
    reply = rig.cri.exec_sync(id, words)
    return (reply.stdout + reply.stderr).decode()


def test_files_of_the_sandbox(rig: RuntimeRig) -> None:
    """Its resolver, its name and its sysctls."""
    dns = pb.DNSConfig(servers=["10.0.0.1"], searches=["a", "b"], options=["ndots:8"])
    linux = pb.LinuxPodSandboxConfig(sysctls={"fs.mqueue.msg_max": "100"})
    id = container(rig, pb.PodSandboxConfig(dns_config=dns, hostname="web-0", linux=linux))
    resolver = "nameserver 10.0.0.1\nsearch a b\noptions ndots:8\n"
    assert said(rig, id, "cat", "/etc/resolv.conf") == resolver
    assert said(rig, id, "hostname") == "web-0\n"
    assert said(rig, id, "cat", "/proc/sys/fs/mqueue/msg_max") == "100\n"


def test_who_it_is(rig: RuntimeRig) -> None:
    """By name and number."""
    id = container(rig, linux=secured(run_as_username="nobody"))
    assert said(rig, id, "id", "-nu") == "nobody\n"
    assert said(rig, id, "sh", "-c", "echo $(id -u):$(id -g)") == "65534:0\n"


@pytest.mark.parametrize(
    ("choices", "path"),
    [({"readonly_rootfs": True}, "a"), ({"readonly_paths": ["/tmp"]}, "/tmp/a")],
)
def test_what_cannot_be_written(rig: RuntimeRig, choices: dict[str, object], path: str) -> None:
    """As the kernel says it."""
    id = container(rig, linux=secured(**choices))
    assert said(rig, id, "touch", path) == f"touch: {path}: Read-only file system\n"


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("touch a && [ -f a ] && echo there", b"there"),
        ("echo $(id -u)", b"0"),
        ("while true; do echo again; sleep 0.01; done", b"again"),
        ("cat /etc/hostname", b"web"),
    ],
)
def test_a_first_process_does_what_it_is_told(
    rig: RuntimeRig, tmp_path: Path, script: str, wanted: bytes
) -> None:
    """Its output is in the log."""
    pod = pb.PodSandboxConfig(log_directory=str(tmp_path), hostname="web")
    container(rig, pod, command=["sh", "-c", script], log_path="log")
    eventually(
        lambda: b" F " + wanted in (tmp_path / "log").read_bytes(), 5, "the log has its output"
    )


def test_an_image_volume_cannot_be_written(rig: RuntimeRig) -> None:
    """The rest of the container can."""
    volume = pb.ImageSpec(image=IMAGE)
    mounts = [pb.Mount(image=volume, container_path="/data", readonly=True)]
    id = container(rig, mounts=mounts)
    assert said(rig, id, "touch", "/data/a") == "touch: /data/a: Read-only file system\n"
    assert said(rig, id, "touch", "/a") == ""


def test_a_program_that_is_masked(rig: RuntimeRig) -> None:
    """It is there, and nobody may run it."""
    id = container(rig, linux=secured(masked_paths=["/bin/ls"]))
    assert said(rig, id, "/bin/sh", "-c", "ls") == "/bin/sh: ls: Permission denied\n"


def test_a_command_that_may_fail(rig: RuntimeRig) -> None:
    """An alternative is no pipe."""
    id = rig.run(rig.sandbox())
    assert rig.cri.exec_sync(id, ["sh", "-c", "pgrep nobody || true"]).exit_code == 0
