"""Rules every field obeys, whatever the RPC (CSI 1.13: size limits, required fields, names).

Each function returns nothing and raises `Refused` (INVALID_ARGUMENT unless said otherwise), with
what was sent, the rule and what to do. Secrets, flags and contexts are never quoted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from refimpl.csi.state.models import AccessMode, CapacityRange, VolumeCapability
from refimpl.csi.state.settings import DriverSettings
from refimpl.wire.status import Code, Refused

STRING_LIMIT = 128
NODE_ID_LIMIT = 256
MAP_LIMIT = 4096
_QUOTED = 60

# Everything of C0 and C1 but tab, line feed and carriage return.
_BANNED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Kubelet (1.35 and later) puts csi.storage.k8s.io/serviceAccount.tokens among the secrets, with a
# slash that the specification does not have: a driver that refused it would serve no pod.
_SECRET_KEY = re.compile(r"[A-Za-z0-9_./-]+")


def invalid(message: str) -> Refused:
    """The refusal of a field: INVALID_ARGUMENT."""
    return Refused(Code.INVALID_ARGUMENT, message)


def quoted(text: str) -> str:
    """A text of the caller for a message: in quotes, escaped, at most 60 characters of it."""
    return ascii(text) if len(text) <= _QUOTED else ascii(text[:_QUOTED]) + "..."


def string(field: str, text: str, limit: int = STRING_LIMIT) -> None:
    """At most `limit` bytes of UTF-8; may be empty."""
    if len(text) * 4 > limit and (size := len(text.encode())) > limit:
        raise invalid(f"{field} has {size} bytes; at most {limit} are allowed: shorten it")


def required(field: str, text: str, limit: int = STRING_LIMIT) -> None:
    """Not empty, and at most `limit` bytes."""
    if not text:
        raise invalid(f"{field} is empty, but required: set it")
    string(field, text, limit)


def name(field: str, text: str) -> None:
    """A name chosen by the caller: required, without the banned control characters."""
    required(field, text)
    if match := _BANNED.search(text):
        raise invalid(
            f"{field} {quoted(text)} holds U+{ord(match[0]):04X}; control characters other than"
            " tab, LF and CR are not allowed in names"
        )


def string_map(field: str, entries: Mapping[str, str], limit: int = MAP_LIMIT) -> None:
    """Keys and values of at most `limit` bytes together."""
    if not entries:
        return
    size = sum(len(key.encode()) + len(value.encode()) for key, value in entries.items())
    if size > limit:
        raise invalid(f"{field} has {size} bytes in all; at most {limit} are allowed")


def strings(field: str, items: Collection[str], limit: int = MAP_LIMIT) -> None:
    """A list of strings of at most `limit` bytes together (mount_flags)."""
    if items and (size := sum(len(item.encode()) for item in items)) > limit:
        raise invalid(f"{field} has {size} bytes in all; at most {limit} are allowed")


def absolute(field: str, path: str) -> None:
    """A path: required, absolute, without NUL and without "..". No limit of length."""
    if not path:
        raise invalid(f"{field} is empty, but required: set it")
    if not path.startswith("/"):
        raise invalid(f"{field} {quoted(path)} is not absolute; send a path that begins with /")
    if "\0" in path or ".." in path.split("/"):
        raise invalid(f"{field} {quoted(path)} must not hold NUL or '..'; send the plain path")


def absolute_or_empty(field: str, path: str) -> None:
    """An optional path."""
    if path:
        absolute(field, path)


def not_negative(field: str, number: int) -> None:
    """A number of at least 0."""
    if number < 0:
        raise invalid(f"{field} is {number}; it must not be negative")


def secrets(settings: DriverSettings, rpc: str, entries: Mapping[str, str]) -> None:
    """Keys well-formed and, where the settings ask for secrets of this RPC, all of them right.
    UNAUTHENTICATED for a wrong value. Secrets nobody asked for are ignored."""
    if entries:
        for key in entries:
            if not _SECRET_KEY.fullmatch(key):
                raise invalid(f"a key of secrets is malformed; keys match {_SECRET_KEY.pattern}")
        string_map("secrets", entries)
    needed = settings.secrets.get(rpc)
    if needed is None:
        return
    for key, value in needed.items():
        if key not in entries:
            raise invalid(f"secrets of {rpc} lack the key {quoted(key)}, which the driver requires")
        if entries[key] != value:
            raise Refused(
                Code.UNAUTHENTICATED, f"the secret {quoted(key)} sent to {rpc} is not the right one"
            )


def capability(field: str, value: VolumeCapability | None) -> VolumeCapability:
    """A capability with access type and known mode, within its size limits; returns it."""
    if value is None:
        raise invalid(f"{field} is missing, but required: set access_type and access_mode")
    if not value.access:
        raise invalid(f"{field} has neither block nor mount; set one access_type")
    if value.mode == AccessMode.UNKNOWN:
        raise invalid(f"{field} has no known access_mode; send one of the modes of the revision")
    if value.mount_flags:
        strings(f"{field}.mount.mount_flags", value.mount_flags)
    if value.fs_type:
        string(f"{field}.mount.fs_type", value.fs_type)
    if value.mount_group:
        string(f"{field}.mount.volume_mount_group", value.mount_group)
    return value


def capacity_range(bounds: CapacityRange) -> None:
    """At least one bound, none negative, required <= limit where there is a limit."""
    if bounds.required < 0 or bounds.limit < 0:
        raise invalid(
            f"capacity_range is {bounds.required}..{bounds.limit} bytes; bounds must not be"
            " negative"
        )
    if not bounds.required and not bounds.limit:
        raise invalid("capacity_range has neither required_bytes nor limit_bytes; set one of them")
    if bounds.limit and bounds.required > bounds.limit:
        raise invalid(
            f"capacity_range wants at least {bounds.required} and at most {bounds.limit} bytes;"
            " required_bytes must not exceed limit_bytes"
        )


def unsupported(
    settings: DriverSettings, modes: Collection[AccessMode], capability: VolumeCapability
) -> str | None:
    """Why this driver serves no volume with the capability (`modes` = those of the side asked);
    None if it does. The caller picks the code: it differs from RPC to RPC."""
    if capability.access not in settings.access_types:
        return f"access type {capability.access} is not supported by this driver"
    if capability.mode not in modes:
        return f"access mode {capability.mode.name} is not supported by this driver"
    if (
        capability.access == "mount"
        and capability.fs_type
        and capability.fs_type not in settings.fs_types
    ):
        known = ", ".join(sorted(settings.fs_types))
        return f"file system {quoted(capability.fs_type)} is not supported; known are {known}"
    return None


# What a volume made for one mode is good for besides: modes that ask for no more than it.
COVERS: Mapping[AccessMode, frozenset[AccessMode]] = {
    AccessMode.SINGLE_NODE_READER_ONLY: frozenset({AccessMode.SINGLE_NODE_READER_ONLY}),
    AccessMode.SINGLE_NODE_SINGLE_WRITER: frozenset(
        {
            AccessMode.SINGLE_NODE_SINGLE_WRITER,
            AccessMode.SINGLE_NODE_WRITER,
            AccessMode.SINGLE_NODE_READER_ONLY,
        }
    ),
    AccessMode.SINGLE_NODE_WRITER: frozenset(
        {
            AccessMode.SINGLE_NODE_WRITER,
            AccessMode.SINGLE_NODE_SINGLE_WRITER,
            AccessMode.SINGLE_NODE_MULTI_WRITER,
            AccessMode.SINGLE_NODE_READER_ONLY,
        }
    ),
    AccessMode.SINGLE_NODE_MULTI_WRITER: frozenset(
        {
            AccessMode.SINGLE_NODE_MULTI_WRITER,
            AccessMode.SINGLE_NODE_WRITER,
            AccessMode.SINGLE_NODE_SINGLE_WRITER,
            AccessMode.SINGLE_NODE_READER_ONLY,
        }
    ),
    AccessMode.MULTI_NODE_READER_ONLY: frozenset(
        {AccessMode.MULTI_NODE_READER_ONLY, AccessMode.SINGLE_NODE_READER_ONLY}
    ),
    AccessMode.MULTI_NODE_SINGLE_WRITER: frozenset(AccessMode)
    - {AccessMode.UNKNOWN, AccessMode.MULTI_NODE_MULTI_WRITER},
    AccessMode.MULTI_NODE_MULTI_WRITER: frozenset(AccessMode) - {AccessMode.UNKNOWN},
}


def covered(made_for: Collection[AccessMode], mode: AccessMode) -> bool:
    """True if a volume created for the modes `made_for` can be used in `mode`."""
    return any(mode in COVERS[created_for] for created_for in made_for)
