"""What the interface plugin does in the kernel: a bridge, a pair of links, addresses, routes."""

from __future__ import annotations

import os

from refimpl.cni.format.addresses import address, cidr, first, network_of, same_family
from refimpl.cni.format.errors import CniError
from refimpl.cni.plugins import kernel
from refimpl.cni.plugins.errors import DELEGATE, EXISTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.request import Call

    Inner = dict[str, Any]

__all__ = ["attach", "clash", "detach", "host_name", "mac_of", "present", "stale", "tidy"]


def host_name(call: Call) -> str:
    """The name of the host's end: the same for every verb, without any record of it."""
    return f"veth{_hash(call.container_id, call.ifname) % (1 << 44):011x}"


def mac_of(*parts: str) -> str:
    """A locally administered address that belongs to these names."""
    number = _hash(*parts) % (1 << 40)
    return ":".join(["02", *(f"{number:010x}"[at : at + 2] for at in range(0, 10, 2))])


def _hash(*parts: str) -> int:
    """FNV-1a of 64 bits: importing hashlib would cost more than the whole call."""
    found = 0xCBF29CE484222325
    for byte in "\n".join(parts).encode("utf-8", "surrogateescape"):
        found = (found ^ byte) * 0x100000001B3 % (1 << 64)
    return found


def clash(call: Call, state: dict[str, Any]) -> CniError | None:
    """The refusal of an ADD whose names are taken: in the namespace, or on the host by the same
    attachment."""
    space = kernel.namespace(state, call.netns)
    if space is not None and call.ifname in space["links"]:
        if call.breach("overwrite-link"):
            kernel.remove_link(state, space, call.ifname)
        else:
            return CniError(EXISTS, f"{call.ifname} exists in {call.netns}; DEL it first")
    host: Any = kernel.namespace(state, kernel.HOST)
    if host_name(call) in host["links"]:
        return CniError(
            EXISTS,
            f"container {call.container_id} has {call.ifname} attached "
            f"(host link {host_name(call)}); DEL it first",
        )
    return None


def attach(call: Call, state: dict[str, Any], given: Inner) -> Inner:
    """Makes the links and puts addresses and routes on; returns the result in the inner form."""
    host: Any = kernel.namespace(state, kernel.HOST)
    space: Any = kernel.namespace(state, call.netns)
    if space is None:  # a fault let the path pass
        space = state["namespaces"].setdefault(call.netns, kernel.new_namespace())
    runtime = call.config.get("runtimeConfig", {})
    mtu = runtime.get("mtu") or call.config.get("mtu") or 1500
    mac = runtime.get("mac") or call.config.get("mac")
    own = mac or mac_of(call.name, call.container_id, call.ifname)
    bridge = call.config.get("bridge") or "cni0"
    names = {"host": host_name(call), "pair": f"{call.container_id}/{call.ifname}"}
    _bridge(call, host, bridge, mtu, given)
    outer = _link("veth", mac_of(names["host"]), mtu, bridge, call.ifname, names["pair"])
    inner = _link("veth", own.lower(), mtu, "", names["host"], names["pair"])
    for link in (outer, inner):
        link.update(owner=call.container_id, network=call.name, born=link["mac"])
    host["links"][names["host"]], space["links"][call.ifname] = outer, inner
    if call.breach("down-link"):
        inner["up"] = False
    if call.breach("stray-link"):
        stray = "stray" + names["host"][4:]
        host["links"][stray] = _link("veth", mac_of(stray), mtu, "", "", "")
    _addresses(call, space, inner, given)
    if call.config.get("ipMasq"):
        host["rules"] += masquerade(call, given)
    return _result(
        call,
        given,
        [
            (bridge, host["links"][bridge], ""),
            (names["host"], outer, ""),
            (call.ifname, inner, call.netns),
        ],
    )


def _link(kind: str, mac: str, mtu: int, master: str, peer: str, pair: str) -> dict[str, Any]:
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
        made = _link("bridge", mac_of("bridge", name), mtu, "", "", "")
        host["links"][name] = {**made, "owner": "interface plugin"}
    if call.config.get("isGateway") or call.config.get("isDefaultGateway"):
        link = host["links"][name]
        for ip in given.get("ips", ()):
            gateway = f"{ip.get('gateway')}/{ip['address'].partition('/')[2]}"
            if ip.get("gateway") and gateway not in link["addresses"]:
                link["addresses"].append(gateway)
                host["routes"].append({"dst": network_of(gateway), "gw": "", "dev": name})


def _addresses(call: Call, space: Any, link: Any, given: Inner) -> None:
    routes = []
    for ip in given.get("ips", ()):
        if not call.breach("missing-address"):
            link["addresses"].append(ip["address"])
        routes.append({"dst": network_of(ip["address"]), "gw": "", "dev": call.ifname})
    for route in [] if call.breach("missing-route") else given.get("routes", ()):
        made = {
            "dst": route["dst"],
            "gw": route.get("gw") or _gateway(given, route["dst"]),
            "dev": call.ifname,
        }
        if route.get("gw") and not _reachable(route["gw"], given):
            raise CniError(
                DELEGATE,
                f"no route to {route['dst']} via {route['gw']}: no address of {call.ifname} "
                "is in the network of that gateway",
            )
        for name in ("mtu", "advmss", "priority", "table", "scope"):
            if route.get(name):
                made[name] = route[name]
        routes.append(made)
    space["routes"] += routes


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
    of = [ip.get("gateway") or "" for ip in ips]
    return of[0] if of else ""


def masquerade(call: Call, given: Inner) -> list[str]:
    """The rules of ipMasq: one an address, naming network and attachment."""
    return [
        f"masquerade {call.name} {call.container_id} {call.ifname} {ip['address']}"
        for ip in given.get("ips", ())
    ]


def _result(call: Call, given: Inner, links: list[tuple[str, Any, str]]) -> Inner:
    found: Inner = {**given, "interfaces": []}
    for name, link, sandbox in links:
        entry = {"name": name, "mac": link["mac"], "mtu": link["mtu"]}
        if sandbox or call.breach("host-sandbox"):
            entry["sandbox"] = sandbox or call.netns
            entry["mac"] = mac_of("wrong") if call.breach("wrong-mac") else link["mac"]
            entry["mtu"] = link["mtu"] + (100 if call.breach("wrong-mtu") else 0)
        found["interfaces"].append(entry)
    for ip in found.get("ips", ()):
        ip["interface"] = len(links) - 1
    return found


def detach(call: Call, state: dict[str, Any]) -> None:
    """Removes what `attach` made and nothing else; all of it may be gone already."""
    host: Any = kernel.namespace(state, kernel.HOST)
    space = kernel.namespace(state, call.netns) if call.netns else None
    link = (space or {"links": {}})["links"].get(call.ifname)
    if not call.breach("forget-link"):
        ours = link and link.get("owner") == call.container_id
        if space and (ours or call.breach("del-foreign-link")):
            kernel.remove_link(state, space, call.ifname)
        kernel.remove_link(state, host, host_name(call))
    key = [call.name, call.container_id, call.ifname]
    host["rules"] = [
        rule
        for rule in host["rules"]
        if rule.split()[0] != "masquerade" or rule.split()[1:4] != key
    ]
    tidy(state)


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
    found = []
    for key, space in state["namespaces"].items():
        for name, link in space["links"].items():
            ifname = link["peer"] if key == kernel.HOST else name
            if link.get("network") == call.name and (link["owner"], ifname) not in valid:
                found.append((space, name))
    return found
