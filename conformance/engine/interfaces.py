"""The interfaces there are; a new one is its package and one entry here."""

from __future__ import annotations

from conformance.cdi.interface import CDI
from conformance.cni.interface import CNI
from conformance.cri.interface import CRI
from conformance.csi.interface import CSI
from conformance.deviceplugin.interface import DEVICEPLUGIN
from conformance.engine.interface import Interface
from conformance.engine.options import BadOption

__all__ = ["ALL", "INTERFACES", "interface", "interface_of", "named", "side_of"]

INTERFACES: dict[str, Interface] = {each.name: each for each in (CSI, CRI, CNI, CDI, DEVICEPLUGIN)}
ALL = "all"
"""The word for every interface at once."""


def interface(name: str) -> Interface:
    """The interface of that name; raises BadOption naming those there are."""
    if name not in INTERFACES:
        raise BadOption(f"interface {name!r}: there is {', '.join(INTERFACES)}, or {ALL}")
    return INTERFACES[name]


def named(name: str) -> list[Interface]:
    """The interface of that name, or every one for `all`; raises BadOption."""
    return list(INTERFACES.values()) if name == ALL else [interface(name)]


def interface_of(id: str) -> str:
    """The interface of an id or a glob of ids: `deviceplugin` for REG-001."""
    prefix = id.partition("-")[0]
    owners = (each.name for each in INTERFACES.values() if prefix in each.prefixes)
    return next(owners, prefix.lower())


def side_of(id: str) -> str:
    """Who is judged: `client`, which calls the interface, or `plugin`, which serves it."""
    owner = INTERFACES.get(interface_of(id))
    return "client" if owner and owner.judges_client(id) else "plugin"
