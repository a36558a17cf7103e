"""One interface of one container on one network: what every verb about it must say alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from refimpl.cni import contract

__all__ = ["NAME_FORM", "NOBODY", "Attachment", "check_names"]

NAME_FORM = "a letter or digit, then letters, digits, '_', '.' and '-'"


def _pairs(given: object) -> tuple[tuple[str, str], ...]:
    items = given.items() if isinstance(given, Mapping) else given
    return tuple((str(key), str(value)) for key, value in items)  # type: ignore[attr-defined]


@attrs.frozen
class Attachment:
    """The parameters of ADD that DEL and CHECK repeat (CNI 1.1, section 2).

    netns: path of the namespace, "" on DEL when it is gone. args: pairs of CNI_ARGS, in order.
    capability_args: capability -> payload, sent to the plugins that declare the capability.
    """

    container_id: str
    netns: str = ""
    ifname: str = "eth0"
    args: tuple[tuple[str, str], ...] = attrs.field(default=(), converter=_pairs)
    capability_args: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def args_text(self) -> str:
        """The value of CNI_ARGS, as the pairs stand there."""
        return ";".join(f"{key}={value}" for key, value in self.args)

    @property
    def pair(self) -> tuple[str, str]:
        """(container id, interface): what GC knows an attachment by."""
        return self.container_id, self.ifname

    def __str__(self) -> str:
        return f"{self.container_id}/{self.ifname}"


NOBODY = Attachment("", ifname="")
"""Stands where a verb is about a network and no attachment."""


def check_names(network: str, attachment: Attachment) -> None:
    """Raises ValueError for names that a plugin, or a file name, must not see."""
    for what, name in (("network", network), ("container id", attachment.container_id)):
        if not contract.valid_container_id(name):
            raise ValueError(f"{what} {name!r}: a name is {NAME_FORM}")
    if not contract.valid_ifname(attachment.ifname):
        raise ValueError(
            f"interface name {attachment.ifname!r}: give 1 to 15 bytes without '/', ':' and "
            "white space, not '.' or '..'"
        )
