"""What new sandboxes and containers must fulfil."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import attrs

from refimpl.cri.state.models import Container, ContainerKey, Sandbox, SandboxKey, SandboxState
from refimpl.wire.status import Code, Refused

__all__ = ["check_container", "check_handler", "check_sandbox"]


def check_handler(handler: str, handlers: Collection[str]) -> None:
    """INVALID_ARGUMENT for one that the runtime does not have."""
    if handler not in handlers:
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"runtime_handler {handler!r} is none of {list(handlers)}: Status lists them",
        )


def check_sandbox(key: SandboxKey, others: Iterable[Sandbox]) -> None:
    """INVALID_ARGUMENT for metadata that lacks something, FAILED_PRECONDITION for that of another
    sandbox, which holds its name until it is removed (as in containerd)."""
    if not (key.name and key.namespace and key.uid):
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"config.metadata is {attrs.asdict(key)}: name, namespace and uid are required",
        )
    _check_name(key, others, "sandbox")


def check_container(sandbox: Sandbox, key: ContainerKey, others: Iterable[Container]) -> None:
    """As `check_sandbox`, among the containers of a sandbox; FAILED_PRECONDITION also if that is
    not READY."""
    if not key.name:
        raise Refused(Code.INVALID_ARGUMENT, "config.metadata.name is empty: it is required")
    if sandbox.state is not SandboxState.READY:
        raise Refused(
            Code.FAILED_PRECONDITION,
            f"sandbox {sandbox.id} is {sandbox.state.name}: containers are created in READY"
            " ones, run another sandbox",
        )
    _check_name(key, others, "container")


def _check_name(
    key: SandboxKey | ContainerKey, others: Iterable[Sandbox | Container], what: str
) -> None:
    for other in others:
        if other.key == key:
            raise Refused(
                Code.FAILED_PRECONDITION,
                f"{what} {other.id} has the metadata {attrs.asdict(key)} already: remove it, or"
                " count attempt up",
            )
