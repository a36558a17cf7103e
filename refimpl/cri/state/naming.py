"""Names: each belongs to one sandbox, or to one container of a sandbox, until that is removed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

import attrs

from refimpl.cri.state.models import ContainerKey, SandboxKey
from refimpl.wire.status import Code, Refused

__all__ = ["Names", "check_container_key", "check_sandbox_key"]

K = TypeVar("K", bound=Hashable)


class Names(Generic[K]):
    """Which id has a name. what: whose names they are, in a word. The lock is the caller's."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._ids: dict[K, str] = {}

    def owner(self, key: K) -> str | None:
        """The id that has the name, None for a free one."""
        return self._ids.get(key)

    def reserve(self, key: K, id: str, shown: object) -> None:
        """FAILED_PRECONDITION for a name that something else has (as in containerd)."""
        owner = self._ids.setdefault(key, id)
        if owner != id:
            raise Refused(
                Code.FAILED_PRECONDITION,
                f"{self._what} {owner} has the metadata {shown} already: remove it, or count"
                " attempt up",
            )

    def free(self, key: K, id: str) -> None:
        """The name is free again, if it was that one's."""
        if self._ids.get(key) == id:
            del self._ids[key]

    def clear(self) -> None:
        """All names are free."""
        self._ids.clear()


def check_sandbox_key(key: SandboxKey) -> None:
    """INVALID_ARGUMENT for metadata that lacks something."""
    if not (key.name and key.namespace and key.uid):
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"config.metadata is {attrs.asdict(key)}: name, namespace and uid are required",
        )


def check_container_key(key: ContainerKey) -> None:
    """INVALID_ARGUMENT for metadata without a name."""
    if not key.name:
        raise Refused(Code.INVALID_ARGUMENT, "config.metadata.name is empty: it is required")
