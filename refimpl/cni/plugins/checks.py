"""What several plugins check alike: prevResult, GC's list, hardware addresses."""

from __future__ import annotations

from refimpl.cni.format.errors import INVALID_CONFIG, CniError
from refimpl.cni.format.versions import VERSIONS
from refimpl.cni.plugins.results import load
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call

    Inner = dict[str, Any]

__all__ = ["VALID_KEY", "check_mac", "is_pair", "previous", "valid_pairs"]

VALID_KEY = "cni.dev/valid-attachments"
OLD_KEY = "cni.dev/attachments"  # what the tagged text of CNI 1.1.0 calls it


def previous(call: Call) -> Inner:
    """prevResult in the inner form. Raises CniError when there is none, or when it is no result of
    the version it names (the request's, if it names none)."""
    given = call.config.get("prevResult")
    if given is None:
        raise CniError(INVALID_CONFIG, f"{call.verb} needs prevResult; the request has none")
    if not isinstance(given, dict):
        raise CniError(INVALID_CONFIG, f"prevResult is {given!r}; it has to be an object")
    version = given.get("cniVersion") or call.version
    if version not in VERSIONS:
        raise CniError(
            INVALID_CONFIG, f"prevResult.cniVersion is {version!r}, which is no known version"
        )
    try:
        return load(given, version)
    except ValueError as error:
        raise CniError(
            INVALID_CONFIG, f"prevResult is no result of version {version}: {error}"
        ) from None


@step
def valid_pairs(call: Call) -> set[tuple[str, str]] | None:
    """The (container id, ifname) pairs that GC has to spare; None when the request has no list,
    and then nothing may be freed. Raises CniError for a malformed list."""
    given = call.config.get(VALID_KEY)
    if given is None:
        given = call.config.get(OLD_KEY)
    if given is None:
        return None
    if not isinstance(given, list):
        raise CniError(INVALID_CONFIG, f"{VALID_KEY} is {given!r}; it has to be an array")
    for item in given:
        if not is_pair(item):
            raise CniError(
                INVALID_CONFIG,
                f"{VALID_KEY} holds {item!r}; every member has to be an object "
                "with the strings containerID and ifname",
            )
    return {(item["containerID"], item["ifname"]) for item in given}


def is_pair(item: object) -> bool:
    """Whether a member of GC's list names an attachment."""
    return isinstance(item, dict) and all(
        isinstance(item.get(key), str) and item[key] for key in ("containerID", "ifname")
    )


def check_mac(where: str, mac: object) -> None:
    """Raises CniError for anything but six octets, or for a group's address."""
    parts = mac.split(":") if isinstance(mac, str) else []
    digits = "0123456789abcdefABCDEF"
    fine = len(parts) == 6 and all(len(p) == 2 and set(p) <= set(digits) for p in parts)
    if mac != "" and not (fine and not int(parts[0], 16) & 1):
        raise CniError(
            INVALID_CONFIG, f"{where}mac is {mac!r}; it has to be like 02:42:0a:01:00:02"
        )
