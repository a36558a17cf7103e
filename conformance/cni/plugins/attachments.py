"""Attachments as a runtime keeps them: one container, one interface, and the result they got."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.define
class CniAttachment:
    """One attachment. netns: path, or empty where the plugin needs none.

    result: the document of its last successful ADD. before: what a chained plugin gets as
    prevResult at ADD, the result of the plugins before it.
    """

    container_id: str
    netns: str
    ifname: str
    args: str = ""
    result: dict[str, Any] | None = None
    before: dict[str, Any] | None = None
    config: dict[str, Any] | None = None  # the one it was last ADDed with
    open: bool = False  # ADDed, and no DEL has succeeded since

    def other(self, **changes: Any) -> CniAttachment:
        """The same container or namespace with another id, interface, ...; without a result."""
        return attrs.evolve(self, result=None, config=None, open=False, **changes)

    @property
    def attachment(self) -> dict[str, str]:
        """As `cni.dev/valid-attachments` lists it."""
        return {"containerID": self.container_id, "ifname": self.ifname}
