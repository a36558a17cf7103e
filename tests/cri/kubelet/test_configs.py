"""What is sent of pods and containers."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.kubelet import container_config, pod_labels, sandbox_config


def test_a_sandbox_is_known_by_a_uid_of_its_own_and_kubelets_labels() -> None:
    """Two pods of one name are two pods."""
    first, second = sandbox_config("pod"), sandbox_config("pod")
    assert first.metadata.uid != second.metadata.uid
    assert dict(first.labels) == {
        "io.kubernetes.pod.name": "pod",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": first.metadata.uid,
    }
    assert first.linux.security_context.namespace_options.network == pb.POD


def test_each_argument_is_in_the_sandbox() -> None:
    """Under the name that CRI has for it; labels instead of those of kubelet."""
    config = sandbox_config(
        *("pod", "web", "uid-1"),
        attempt=2,
        labels={"a": "b"},
        annotations={"c": "d"},
        ports=[pb.PortMapping(container_port=80, host_port=8080)],
        dns=pb.DNSConfig(servers=["192.0.2.1"]),
        log_directory="/logs",
        cgroup_parent="/group",
        sysctls={"net.ipv4.ip_forward": "1"},
        host_network=True,
    )
    options = pb.NamespaceOption(network=pb.NODE)
    assert config == pb.PodSandboxConfig(
        metadata=pb.PodSandboxMetadata(name="pod", namespace="web", uid="uid-1", attempt=2),
        labels={"a": "b"},
        annotations={"c": "d"},
        port_mappings=[pb.PortMapping(container_port=80, host_port=8080)],
        dns_config=pb.DNSConfig(servers=["192.0.2.1"]),
        log_directory="/logs",
        linux=pb.LinuxPodSandboxConfig(
            cgroup_parent="/group",
            sysctls={"net.ipv4.ip_forward": "1"},
            security_context=pb.LinuxSandboxSecurityContext(namespace_options=options),
        ),
    )
    assert pod_labels(config.metadata)["io.kubernetes.pod.namespace"] == "web"


def test_each_argument_is_in_the_container() -> None:
    """Text of variables becomes bytes, names of devices become messages."""
    mount, device = pb.Mount(container_path="/a"), pb.Device(container_path="/dev/a")
    config = container_config(
        *("main", "example.com/a:1"),
        attempt=3,
        command=["/bin/a"],
        args=["b"],
        env=[("KEY", "ü"), ("EMPTY", "")],
        mounts=[mount],
        devices=[device],
        cdi_devices=["example.com/gpu=0"],
        labels={"a": "b"},
        annotations={"c": "d"},
        log_path="main/3.log",
        user=0,
        group=7,
    )
    identity = pb.LinuxContainerSecurityContext(
        run_as_user=pb.Int64Value(value=0), run_as_group=pb.Int64Value(value=7)
    )
    assert config == pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name="main", attempt=3),
        image=pb.ImageSpec(image="example.com/a:1", user_specified_image="example.com/a:1"),
        command=["/bin/a"],
        args=["b"],
        envs=[pb.KeyValue(key="KEY", value="ü".encode()), pb.KeyValue(key="EMPTY")],
        mounts=[mount],
        devices=[device],
        CDI_devices=[pb.CDIDevice(name="example.com/gpu=0")],
        labels={"a": "b"},
        annotations={"c": "d"},
        log_path="main/3.log",
        linux=pb.LinuxContainerConfig(security_context=identity),
    )


def test_a_container_is_run_by_whom_its_image_says_unless_told() -> None:
    """User 0 is a user, and none is no user."""
    config = container_config("main", "a")
    assert not config.HasField("linux")
    assert dict(config.labels) == {"io.kubernetes.container.name": "main"}
