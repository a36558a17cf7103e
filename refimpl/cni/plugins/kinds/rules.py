"""Port mappings and bandwidth of a chained plugin: checked, and written down as rules."""

from __future__ import annotations

from refimpl.cni.format.addresses import address, same_family
from refimpl.cni.format.errors import INVALID_CONFIG, CniError
from refimpl.cni.plugins.checks import check_mac
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call

__all__ = ["demanded", "validate"]

_RATES = ("ingressRate", "ingressBurst", "egressRate", "egressBurst")


@step
def validate(call: Call) -> None:
    """Raises CniError (7) for what the plugin could not set up: before it does anything."""
    runtime = call.config.get("runtimeConfig") or {}
    for where, given in (("", call.config), ("runtimeConfig.", runtime)):
        check_mac(where, given.get("mac", ""))
        mtu = given.get("mtu", 1500)
        if isinstance(mtu, bool) or not isinstance(mtu, int) or not 68 <= mtu <= 65535:
            raise CniError(INVALID_CONFIG, f"{where}mtu is {mtu!r}; it has to be 68 to 65535")
    mappings(call)
    bandwidth(call)


@step
def demanded(call: Call, result: dict[str, Any]) -> list[str]:
    """The rules of this attachment, as text that begins with what, network, id and interface."""
    ips = [str(ip["address"]).partition("/")[0] for ip in result.get("ips", ())]
    ips += [str(result[key]["ip"]).partition("/")[0] for key in ("ip4", "ip6") if key in result]
    key = f"{call.name} {call.container_id} {call.ifname}"
    ports = [
        f"portmap {key} {protocol} {host or '*'}:{port} {ip}:{inner}"
        for protocol, host, port, inner in mappings(call)
        for ip in ips
        if not host or same_family(host, ip)
    ]
    return [*ports, *(f"shape {key} {text}" for text in bandwidth(call))]


def _member(call: Call, given: dict[str, Any], name: str, default: object) -> Any:
    """A member by the conventions' name; by the name that Go gives it where settings allow."""
    if name not in given and call.settings.get("lenient"):
        return given.get(name[:1].upper() + name[1:], default)
    return given.get(name, default)


@step
def mappings(call: Call) -> list[tuple[str, str, int, int]]:
    """(protocol, host address or "", host port, container port). Raises CniError."""
    given = (call.config.get("runtimeConfig") or {}).get("portMappings")
    given = [] if given is None else given
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise CniError(
            INVALID_CONFIG,
            f"runtimeConfig.portMappings is {given!r}; it has to be an array of objects",
        )
    return [_mapping(call, each) for each in given]


def _mapping(call: Call, given: dict[str, Any]) -> tuple[str, str, int, int]:
    ports = [_member(call, given, name, 0) for name in ("hostPort", "containerPort")]
    for name, port in zip(("hostPort", "containerPort"), ports, strict=True):
        if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
            raise CniError(
                INVALID_CONFIG, f"portMappings: {name} is {port!r}; it has to be 1 to 65535"
            )
    protocol = _member(call, given, "protocol", "tcp")
    if protocol not in ("tcp", "udp", "sctp"):
        raise CniError(
            INVALID_CONFIG, f"portMappings: protocol is {protocol!r}; it has to be tcp, udp or sctp"
        )
    host = _member(call, given, "hostIP", "") or _member(call, given, "HostIP", "")
    try:
        if host:
            address(host)
    except ValueError as error:
        raise CniError(INVALID_CONFIG, f"portMappings: hostIP: {error}") from None
    return protocol, host, ports[0], ports[1]


@step
def bandwidth(call: Call) -> list[str]:
    """The rates and bursts that are limited, as one text or none. Raises CniError."""
    given = (call.config.get("runtimeConfig") or {}).get("bandwidth")
    given = {} if given is None else given
    if not isinstance(given, dict):
        raise CniError(
            INVALID_CONFIG, f"runtimeConfig.bandwidth is {given!r}; it has to be an object"
        )
    rates = [_member(call, given, name, 0) for name in _RATES]
    for name, rate in zip(_RATES, rates, strict=True):
        if isinstance(rate, bool) or not isinstance(rate, int) or rate < 0:
            raise CniError(
                INVALID_CONFIG,
                f"bandwidth: {name} is {rate!r}; it has to be a whole number of bits, 0 or more",
            )
    text = " ".join(f"{name}={rate}" for name, rate in zip(_RATES, rates, strict=True) if rate)
    return [text] if text else []
