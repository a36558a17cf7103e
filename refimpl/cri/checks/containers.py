"""What CreateContainer may ask for."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.checks import mounts, resources, users
from refimpl.cri.state.settings.mounts import MountChoices
from refimpl.wire.status import Code, Refused

__all__ = ["check"]


def check(request: pb.CreateContainerRequest, choices: MountChoices) -> None:
    """INVALID_ARGUMENT for what no container can have."""
    for name in ("config", "sandbox_config"):
        if not request.HasField(name):
            raise _invalid(f"{name} is missing: it is required")
    config = request.config
    if not config.HasField("metadata"):
        raise _invalid("config.metadata is missing: it is required")
    if config.stop_signal not in pb.Signal.values():
        raise _invalid(f"stop_signal is {config.stop_signal}: it is no Signal")
    context = config.linux.security_context
    users.check(context.namespace_options)
    # CRI LinuxContainerSecurityContext.run_as_group: only together with a user.
    user = context.HasField("run_as_user") or context.run_as_username
    if context.HasField("run_as_group") and not user:
        raise _invalid("run_as_group is set without run_as_user: set both, or neither")
    sandbox = request.sandbox_config.linux.security_context
    if context.privileged and not sandbox.privileged:
        raise _invalid("a privileged container needs a privileged sandbox")
    _check_log_path(config.log_path)
    for mount in config.mounts:
        mounts.check(mount, choices)
    resources.check(config.linux.resources)


def _check_log_path(path: str) -> None:
    if path.startswith("/") or ".." in path.split("/"):
        raise _invalid(f"log_path {path!r} leads out of the log directory: it is relative to it")


def _invalid(message: str) -> Refused:
    return Refused(Code.INVALID_ARGUMENT, message)
