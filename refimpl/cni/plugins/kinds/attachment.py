"""An attachment as the kernel has it, against what prevResult says of it."""

from __future__ import annotations

from refimpl.cni.format.addresses import network_of, same
from refimpl.cni.format.errors import CniError
from refimpl.cni.plugins import kernel, spaces
from refimpl.cni.plugins.errors import CHANGED
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call

    Inner = dict[str, Any]

__all__ = ["check_attachment"]


@step
def check_attachment(call: Call, state: dict[str, Any], result: Inner) -> None:
    """Raises CniError for the first thing of prevResult that the kernel does not have."""
    place, entry = _own_entry(call, result)
    space, link = present(call, state)
    check_up(call, link)
    check_entry(call, link, entry)
    _check_host(state, result)
    check_addresses(call, link, result, place)
    check_routes(call, space, result)


def _own_entry(call: Call, result: Inner) -> tuple[int, Inner]:
    for place, entry in enumerate(result.get("interfaces", ())):
        if entry["name"] == call.ifname and entry.get("sandbox") == call.netns:
            return place, entry
    raise CniError(CHANGED, f"prevResult names no interface {call.ifname} in sandbox {call.netns}")


def present(call: Call, state: dict[str, Any]) -> tuple[Inner, Inner]:
    """The namespace and the link in it. Raises CniError when one of them is gone."""
    space = spaces.inside(call, state)
    link = (space or {"links": {}})["links"].get(call.ifname)
    if space is None or link is None:
        raise CniError(CHANGED, f"there is no {call.ifname} in {call.netns} any more")
    return space, link


@step
def check_up(call: Call, link: Inner) -> None:
    """Raises CniError for a link that is down."""
    if not link["up"]:
        raise CniError(CHANGED, f"{call.ifname} in {call.netns} is down")


@step
def check_entry(call: Call, link: Inner, entry: Inner) -> None:
    """Raises CniError for another MAC or MTU than the entry of prevResult has."""
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


@step
def check_addresses(call: Call, link: Inner, result: Inner, place: int) -> None:
    """Raises CniError for an address that the link does not have; `place` is the link's index."""
    for ip in result.get("ips", ()):
        wanted = ip.get("interface") in (place, None)
        if wanted and not any(same(ip["address"], known) for known in link["addresses"]):
            raise CniError(CHANGED, f"{call.ifname} has no address {ip['address']} any more")


@step
def check_routes(call: Call, space: Inner, result: Inner) -> None:
    """Raises CniError for a route that the namespace does not have."""
    known = {route["dst"] for route in space["routes"]}
    for route in result.get("routes", ()):
        if network_of(route["dst"]) not in known:
            raise CniError(CHANGED, f"{call.netns} has no route to {route['dst']} any more")
