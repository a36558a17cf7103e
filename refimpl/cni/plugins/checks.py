"""What several plugins check alike: prevResult, the attachment against it, GC's list."""

from __future__ import annotations

from refimpl.cni.format.addresses import network_of, same
from refimpl.cni.format.errors import INVALID_CONFIG, CniError
from refimpl.cni.format.versions import VERSIONS
from refimpl.cni.plugins import kernel
from refimpl.cni.plugins.errors import CHANGED
from refimpl.cni.plugins.results import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.request import Call

    Inner = dict[str, Any]

__all__ = ["check_attachment", "previous", "valid_pairs"]

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


def check_attachment(call: Call, state: dict[str, Any], result: Inner) -> None:
    """Raises CniError for the first thing of prevResult that the kernel does not have."""
    skipped = (call.breach("skip") or {}).get("what", "")
    place, entry = _own_entry(call, result)
    space = kernel.namespace(state, call.netns)
    link = (space or {"links": {}})["links"].get(call.ifname)
    if space is None or link is None:
        if skipped == "link":
            return
        raise CniError(CHANGED, f"there is no {call.ifname} in {call.netns} any more")
    if not link["up"] and skipped != "up":
        raise CniError(CHANGED, f"{call.ifname} in {call.netns} is down")
    if call.breach("check-own-mac"):
        entry = {**entry, "mac": link.get("born", link["mac"])}
    if skipped != "mac":
        _check_entry(call, link, entry)
    if call.breach("check-ignores-prev-result"):
        return
    _check_host(state, result)
    for ip in result.get("ips", ()) if skipped != "address" else ():
        wanted = ip.get("interface") in (place, None)
        if wanted and not any(same(ip["address"], known) for known in link["addresses"]):
            raise CniError(CHANGED, f"{call.ifname} has no address {ip['address']} any more")
    known_routes = {route["dst"] for route in space["routes"]}
    for route in result.get("routes", ()) if skipped != "route" else ():
        if network_of(route["dst"]) not in known_routes:
            raise CniError(CHANGED, f"{call.netns} has no route to {route['dst']} any more")


def _own_entry(call: Call, result: Inner) -> tuple[int, Inner]:
    if call.breach("check-ignores-prev-result"):
        return 0, {}
    for place, entry in enumerate(result.get("interfaces", ())):
        if entry["name"] == call.ifname and entry.get("sandbox") == call.netns:
            return place, entry
    raise CniError(CHANGED, f"prevResult names no interface {call.ifname} in sandbox {call.netns}")


def _check_entry(call: Call, link: Inner, entry: Inner) -> None:
    mac = entry.get("mac")
    if mac and str(mac).lower() != link["mac"]:
        raise CniError(CHANGED, f"{call.ifname} has mac {link['mac']}, prevResult says {mac}")
    mtu = entry.get("mtu")
    if mtu and mtu != link["mtu"]:
        raise CniError(CHANGED, f"{call.ifname} has mtu {link['mtu']}, prevResult says {mtu}")


def _check_host(state: dict[str, Any], result: Inner) -> None:
    host: Any = kernel.namespace(state, kernel.HOST)
    for entry in result.get("interfaces", ()):
        if not entry.get("sandbox") and entry["name"] not in host["links"]:
            raise CniError(CHANGED, f"there is no {entry['name']} on the host any more")


def valid_pairs(call: Call) -> set[tuple[str, str]] | None:
    """The (container id, ifname) pairs that GC has to spare; None when the request has no list,
    and then nothing may be freed. Raises CniError for a malformed list."""
    given = call.config.get(VALID_KEY)
    if given is None:
        given = call.config.get(OLD_KEY)
    if given is None:
        return set() if call.breach("gc-missing-frees") else None
    if call.breach("gc-any-type"):
        given = [] if not isinstance(given, list) else [x for x in given if _is_pair(x)]
    if not isinstance(given, list):
        raise CniError(INVALID_CONFIG, f"{VALID_KEY} is {given!r}; it has to be an array")
    for item in given:
        if not _is_pair(item):
            raise CniError(
                INVALID_CONFIG,
                f"{VALID_KEY} holds {item!r}; every member has to be an object "
                "with the strings containerID and ifname",
            )
    return {(item["containerID"], item["ifname"]) for item in given}


def _is_pair(item: object) -> bool:
    return isinstance(item, dict) and all(
        isinstance(item.get(key), str) and item[key] for key in ("containerID", "ifname")
    )
