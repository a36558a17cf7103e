"""What the interface plugin does in the kernel: a bridge, a pair of links, addresses, routes."""

from __future__ import annotations

import os

from refimpl.cni.format.addresses import address, cidr, first, network_of, same_family
from refimpl.cni.format.errors import CniError
from refimpl.cni.plugins import kernel, spaces
from refimpl.cni.plugins.errors import DELEGATE, EXISTS
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call

    Inner = dict[str, Any]

__all__ = ["attach", "check_free", "detach", "host_name", "mac_of", "present", "stale", "tidy"]


def host_name(call: Call) -> str:
    """The name of the host's end: the same for every verb, without any record of it."""
    return f"veth{_hash(call.container_id, call.ifname) % (1 << 44):011x}"


def mac_of(*parts: str) -> str:
    """A locally administered address that belongs to these names."""
    number = _hash(*parts) % (1 << 40)
    return ":".join(["02", *(f"{number:010x}"[at : at + 2] for at in range(0, 10, 2))])


def _hash(*parts: str) -> int:
    """FNV-1a of 64 bits: importing hashlib would cost more than the whole call."""
    number = 0xCBF29CE484222325
    for byte in "\n".join(parts).encode("utf-8", "surrogateescape"):
        number = (number ^ byte) * 0x100000001B3 % (1 << 64)
    return number


@step
def check_free(call: Call, state: dict[str, Any]) -> None:
    """Raises CniError for an ADD whose names are taken: in the namespace, or on the host by the
    same attachment."""
    space = spaces.inside(call, state)
    if space is not None and call.ifname in space["links"]:
        raise CniError(EXISTS, f"{call.ifname} exists in {call.netns}; DEL it first")
    host: Any = kernel.namespace(state, kernel.HOST)
    if host_name(call) in host["links"]:
        raise CniError(
            EXISTS,
            f"container {call.container_id} has {call.ifname} attached "
            f"(host link {host_name(call)}); DEL it first",
        )


@step
def attach(call: Call, state: dict[str, Any], given: Inner) -> Inner:
    """Makes the links and puts addresses and routes on; returns the result in the inner form."""
    host: Any = kernel.namespace(state, kernel.HOST)
    space = spaces.inside(call, state)
    runtime = call.config.get("runtimeConfig", {})
    mtu = runtime.get("mtu") or call.config.get("mtu") or 1500
    mac = runtime.get("mac") or call.config.get("mac")
    own = mac or mac_of(call.name, call.container_id, call.ifname)
    bridge = call.config.get("bridge") or "cni0"
    names = {"host": host_name(call), "pair": f"{call.container_id}/{call.ifname}"}
    _bridge(call, host, bridge, mtu, given)
    outer = new_link("veth", mac_of(names["host"]), mtu, bridge, call.ifname, names["pair"])
    inner = new_link("veth", own.lower(), mtu, "", names["host"], names["pair"])
    for link in (outer, inner):
        link.update(owner=call.container_id, network=call.name, born=link["mac"])
    host["links"][names["host"]], space["links"][call.ifname] = outer, inner
    inner["addresses"] += [ip["address"] for ip in given.get("ips", ())]
    space["routes"] += _routes(call, given)
    if call.config.get("ipMasq"):
        host["rules"] += masquerade(call, given)
    links = [
        (bridge, host["links"][bridge], ""),
        (names["host"], outer, ""),
        (call.ifname, inner, call.netns),
    ]
    return _result(given, links)


def new_link(
    kind: str, mac: str, mtu: int, master: str = "", peer: str = "", pair: str = ""
) -> dict[str, Any]:
    """A link that is up, without addresses."""
    return {
        "kind": kind,
        "mac": mac,
        "mtu": mtu,
        "up": True,
        "addresses": [],
        "master": master,
        "peer": peer,
        "pair": pair,
    }


def _bridge(call: Call, host: Any, name: str, mtu: int, given: Inner) -> None:
    if name not in host["links"]:
        bridge = new_link("bridge", mac_of("bridge", name), mtu)
        host["links"][name] = {**bridge, "owner": "interface plugin"}
    if call.config.get("isGateway") or call.config.get("isDefaultGateway"):
        link = host["links"][name]
        for ip in given.get("ips", ()):
            gateway = f"{ip.get('gateway')}/{ip['address'].partition('/')[2]}"
            if ip.get("gateway") and gateway not in link["addresses"]:
                link["addresses"].append(gateway)
                host["routes"].append({"dst": network_of(gateway), "gw": "", "dev": name})


def _routes(call: Call, given: Inner) -> list[dict[str, Any]]:
    """The routes to the networks of the addresses and those that IPAM gave. Raises CniError."""
    routes: list[dict[str, Any]] = [
        {"dst": network_of(ip["address"]), "gw": "", "dev": call.ifname}
        for ip in given.get("ips", ())
    ]
    for route in given.get("routes", ()):
        if route.get("gw") and not _reachable(route["gw"], given):
            raise CniError(
                DELEGATE,
                f"no route to {route['dst']} via {route['gw']}: no address of {call.ifname} "
                "is in the network of that gateway",
            )
        gateway = route.get("gw") or _gateway(given, route["dst"])
        names = ("mtu", "advmss", "priority", "table", "scope")
        attributes = {name: route[name] for name in names if route.get(name)}
        routes.append({"dst": route["dst"], "gw": gateway, "dev": call.ifname, **attributes})
    return routes


def _reachable(gateway: str, given: Inner) -> bool:
    """A kernel takes a next hop in a network of the link, and any link-local one."""
    family, value = address(gateway)
    networks = [cidr(ip["address"]) for ip in given.get("ips", ())]
    return value >> 118 == 0x3FA or any(  # fe80::/10
        family == of and first(of, value, prefix) == first(of, own, prefix)
        for of, own, prefix in networks
    )


def _gateway(given: Inner, dst: str) -> str:
    ips = [ip for ip in given.get("ips", ()) if same_family(ip["address"], dst)]
    gateways = [ip.get("gateway") or "" for ip in ips]
    return gateways[0] if gateways else ""


def masquerade(call: Call, given: Inner) -> list[str]:
    """The rules of ipMasq: one an address, naming network and attachment."""
    return [
        f"masquerade {call.name} {call.container_id} {call.ifname} {ip['address']}"
        for ip in given.get("ips", ())
    ]


def _result(given: Inner, links: list[tuple[str, Any, str]]) -> Inner:
    result: Inner = {**given, "interfaces": []}
    for name, link, sandbox in links:
        entry = {"name": name, "mac": link["mac"], "mtu": link["mtu"]}
        result["interfaces"].append({**entry, "sandbox": sandbox} if sandbox else entry)
    for ip in result.get("ips", ()):
        ip["interface"] = len(links) - 1
    return result


def detach(call: Call, state: dict[str, Any]) -> None:
    """Removes what `attach` made and nothing else; all of it may be gone already."""
    host: Any = kernel.namespace(state, kernel.HOST)
    remove_ends(call, state)
    key = [call.name, call.container_id, call.ifname]
    host["rules"] = [
        rule
        for rule in host["rules"]
        if rule.split()[0] != "masquerade" or rule.split()[1:4] != key
    ]
    tidy(state)


@step
def remove_ends(call: Call, state: dict[str, Any]) -> None:
    """Removes both ends of the pair, the inner one if it is the attachment's."""
    space = spaces.inside(call, state)
    link = (space or {"links": {}})["links"].get(call.ifname)
    if link is not None and is_ours(call, link):
        kernel.remove_link(state, space, call.ifname)
    host: Any = kernel.namespace(state, kernel.HOST)
    kernel.remove_link(state, host, host_name(call))


@step
def is_ours(call: Call, link: Inner) -> bool:
    """Whether a link in the container was made for this attachment."""
    return bool(link.get("owner") == call.container_id)


def tidy(state: dict[str, Any]) -> None:
    """Removes bridges of ours without a port, and namespaces that are gone."""
    host: Any = kernel.namespace(state, kernel.HOST)
    for name, link in list(host["links"].items()):
        ports = [each for each in host["links"].values() if each["master"] == name]
        if link.get("owner") == "interface plugin" and not ports:
            kernel.remove_link(state, host, name)
    for path, space in list(state["namespaces"].items()):
        idle = set(space["links"]) <= {"lo"} and not space["rules"]
        gone = kernel.state_of(state, path) in ("missing", "not a namespace")
        if path != kernel.HOST and (gone or (idle and kernel.is_nsfs(path))):
            for name in list(space["links"]):
                kernel.remove_link(state, space, name)
            del state["namespaces"][path]


def present(call: Call) -> bool:
    """Whether there is a kernel that could hold anything: a DEL of nothing makes no file."""
    return os.path.exists(call.settings.get("kernel") or "")


def stale(
    call: Call, state: dict[str, Any], valid: set[tuple[str, str]]
) -> list[tuple[dict[str, Any], str]]:
    """(namespace, link) of this network's attachments that are not among the valid ones."""
    attachments = []
    for key, space in state["namespaces"].items():
        for name, link in space["links"].items():
            ifname = link["peer"] if key == kernel.HOST else name
            if link.get("network") == call.name and (link["owner"], ifname) not in valid:
                attachments.append((space, name))
    return attachments
