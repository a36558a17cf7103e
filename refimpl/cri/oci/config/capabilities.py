"""Capabilities of a container (capabilities(7); CRI Capability)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from refimpl.wire.status import Code, Refused

__all__ = ["NAMES", "capabilities"]

_NUMBERED = """
CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO
SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME
SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG
WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE
"""
NAMES = tuple(f"CAP_{name}" for name in _NUMBERED.split())
"""In the order of their numbers (linux/capability.h)."""
_LEFT = """
CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE
SYS_CHROOT KILL AUDIT_WRITE
"""
_DEFAULT = frozenset(f"CAP_{name}" for name in _LEFT.split())
"""What runtimes leave to a container that asks for nothing."""
_ALL = "ALL"


def capabilities(context: Any, available: Collection[str]) -> dict[str, list[str]]:
    """`process.capabilities` of a LinuxContainerSecurityContext. available: what the runtime has
    itself, which is all that a privileged container, or "ALL", can get. INVALID_ARGUMENT for a name
    that is none."""
    if context.privileged:
        return _sets(available, inheritable=())
    asked = context.capabilities
    added = _named(asked.add_capabilities, available)
    ambient = _named(asked.add_ambient_capabilities, available)
    dropped = _named(asked.drop_capabilities, NAMES)
    everything_added = any(_plain(name) == _ALL for name in asked.add_capabilities)
    everything_dropped = any(_plain(name) == _ALL for name in asked.drop_capabilities)
    base = set() if everything_dropped else set(_DEFAULT)
    # One that is dropped by its name is dropped even where ALL are added; ALL is weaker than any.
    if everything_added:
        kept = (set(available) | added) - (set() if everything_dropped else dropped)
    else:
        kept = (base - dropped) | (added if everything_dropped else added - dropped)
    kept |= ambient
    return _sets(kept, inheritable=(added | ambient) & kept, ambient=ambient)


def _sets(
    kept: Iterable[str], *, inheritable: Iterable[str], ambient: Iterable[str] = ()
) -> dict[str, list[str]]:
    sets = {"bounding": kept, "effective": kept, "permitted": kept, "inheritable": inheritable}
    return {name: _ordered(each) for name, each in {**sets, "ambient": ambient}.items()}


def _ordered(names: Iterable[str]) -> list[str]:
    return sorted(names, key=NAMES.index)


def _named(names: Iterable[str], everything: Collection[str]) -> set[str]:
    found: set[str] = set()
    for name in names:
        plain = _plain(name)
        if plain == _ALL:
            found |= set(everything)
        elif f"CAP_{plain}" in NAMES:
            found.add(f"CAP_{plain}")
        else:
            raise Refused(
                Code.INVALID_ARGUMENT,
                f"capability {name!r} is none: it is a name of capabilities(7) without CAP_, or"
                " ALL",
            )
    return found


def _plain(name: str) -> str:
    return name.upper().removeprefix("CAP_")
