"""What kubelet sends of a pod and of its containers, made from plain arguments."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from refimpl.cri.api import cri_pb2 as pb

__all__ = ["CONTAINER_NAME", "POD_UID", "container_config", "pod_labels", "sandbox_config"]

POD_NAME, POD_NAMESPACE = "io.kubernetes.pod.name", "io.kubernetes.pod.namespace"
POD_UID, CONTAINER_NAME = "io.kubernetes.pod.uid", "io.kubernetes.container.name"


def pod_labels(metadata: pb.PodSandboxMetadata) -> dict[str, str]:
    """The labels by which kubelet knows the sandboxes and containers of a pod again."""
    return {
        POD_NAME: metadata.name,
        POD_NAMESPACE: metadata.namespace,
        POD_UID: metadata.uid,
    }


def sandbox_config(
    name: str,
    namespace: str = "default",
    uid: str = "",
    *,
    attempt: int = 0,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    ports: Iterable[pb.PortMapping] = (),
    dns: pb.DNSConfig | None = None,
    log_directory: str = "",
    cgroup_parent: str = "",
    sysctls: Mapping[str, str] | None = None,
    host_network: bool = False,
) -> pb.PodSandboxConfig:
    """A pod's sandbox. Without `uid` it gets one of its own, without `labels` those of kubelet.

    Whatever bears kubelet's labels and is not its own, a kubelet at the same runtime kills.
    """
    identity = {"name": name, "namespace": namespace, "uid": uid or str(uuid.uuid4())}
    metadata = pb.PodSandboxMetadata(**identity, attempt=attempt)
    network = pb.NODE if host_network else pb.POD
    return pb.PodSandboxConfig(
        metadata=metadata,
        labels=pod_labels(metadata) if labels is None else labels,
        annotations=annotations,
        port_mappings=ports,
        dns_config=dns,
        log_directory=log_directory,
        linux=pb.LinuxPodSandboxConfig(
            cgroup_parent=cgroup_parent,
            sysctls=sysctls,
            security_context=pb.LinuxSandboxSecurityContext(
                namespace_options=pb.NamespaceOption(network=network)
            ),
        ),
    )


def container_config(
    name: str,
    image: str,
    *,
    attempt: int = 0,
    command: Iterable[str] = (),
    args: Iterable[str] = (),
    env: Iterable[tuple[str, str]] = (),
    mounts: Iterable[pb.Mount] = (),
    devices: Iterable[pb.Device] = (),
    cdi_devices: Iterable[str] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    log_path: str = "",
    user: int | None = None,
    group: int | None = None,
) -> pb.ContainerConfig:
    """A container of a pod. Without `labels` it has its name in the label of kubelet; `log_path`
    is relative to the sandbox's log directory, `cdi_devices` are qualified names."""
    config = pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name=name, attempt=attempt),
        image=pb.ImageSpec(image=image, user_specified_image=image),
        command=command,
        args=args,
        envs=[pb.KeyValue(key=key, value=value.encode()) for key, value in env],
        mounts=mounts,
        devices=devices,
        CDI_devices=[pb.CDIDevice(name=device) for device in cdi_devices],
        labels={CONTAINER_NAME: name} if labels is None else labels,
        annotations=annotations,
        log_path=log_path,
    )
    identity = config.linux.security_context
    if user is not None:
        identity.run_as_user.value = user
    if group is not None:
        identity.run_as_group.value = group
    return config
