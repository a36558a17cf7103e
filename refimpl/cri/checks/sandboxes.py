"""What RunPodSandbox may ask for."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.checks import users
from refimpl.cri.state.settings.sandboxes import SandboxChoices
from refimpl.wire.status import Code, Refused

__all__ = ["check"]

_HOSTNAME = 64
"""Linux keeps no longer one (sethostname)."""
_OF_NAMESPACES = ("net.", "kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")
"""Linux namespaces(7): others are the machine's."""
_PORTS = range(1, 1 << 16)


def check(config: pb.PodSandboxConfig, choices: SandboxChoices) -> None:
    """INVALID_ARGUMENT for what no sandbox can have."""
    if not config.HasField("metadata"):
        raise _invalid("config.metadata is missing: it is required")
    users.check(config.linux.security_context.namespace_options)
    _check_user(config.linux.security_context, choices)
    _check_ports(config, choices)
    if len(config.hostname) > _HOSTNAME:
        raise _invalid(
            f"config.hostname has {len(config.hostname)} characters: {_HOSTNAME} at most"
        )
    _check_sysctls(config)


def _check_user(context: pb.LinuxSandboxSecurityContext, choices: SandboxChoices) -> None:
    # CRI LinuxSandboxSecurityContext.run_as_group: only together with a user.
    lone = context.HasField("run_as_group") and not context.HasField("run_as_user")
    if lone and choices.user_for_group:
        raise _invalid("run_as_group is set without run_as_user: set both, or neither")


def _check_sysctls(config: pb.PodSandboxConfig) -> None:
    host_network = config.linux.security_context.namespace_options.network == pb.NODE
    for name in config.linux.sysctls:
        if host_network and name.startswith("net."):
            raise _invalid(
                f"config.linux.sysctls has {name}, and the sandbox is on the network of the node:"
                " it would change the node"
            )
        if not name.startswith(_OF_NAMESPACES):
            raise _invalid(
                f"config.linux.sysctls has {name}, which is of no namespace: it begins with one of"
                f" {', '.join(_OF_NAMESPACES)}"
            )


def _check_ports(config: pb.PodSandboxConfig, choices: SandboxChoices) -> None:
    for mapping in config.port_mappings:
        # CRI PortMapping.host_port: 0 is none.
        none = mapping.host_port == 0 or (mapping.host_port < 0 and choices.negative_port)
        if not none and mapping.host_port not in _PORTS:
            raise _invalid(f"host_port is {mapping.host_port}: 1 to 65535, or 0 for none")


def _invalid(message: str) -> Refused:
    return Refused(Code.INVALID_ARGUMENT, message)
