"""What the runtimes of Kubernetes tell plugins of a pod: CNI_ARGS and capability payloads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import attrs

from refimpl.cni import contract
from refimpl.cni.runtime.choices import Pods
from refimpl.cni.runtime.gojson import Struct

__all__ = ["ANNOTATIONS", "Pod", "Port", "Resolver", "args_of", "bits", "capabilities_of"]

ANNOTATIONS: Final = "io.kubernetes.cri.pod-annotations"
_BANDWIDTH: Final = "kubernetes.io/{}-bandwidth"
_MOST_BURST: Final = 2**32 - 1
_SUFFIXES: Final = {
    "m": Decimal("0.001"),
    "": Decimal(1),
    **{mark: Decimal(1000) ** power for power, mark in enumerate("kMGTPE", 1)},
    **{f"{mark}i": Decimal(1024) ** power for power, mark in enumerate("KMGTPE", 1)},
}
_QUANTITY: Final = re.compile(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)(m|k|[KMGTPE]i|[MGTPE]?)")


@attrs.frozen
class Port:
    """A port mapping as CRI has it; a host port of 0 maps nothing."""

    container_port: int
    host_port: int = 0
    protocol: str = "TCP"
    host_ip: str = ""


@attrs.frozen
class Resolver:
    """The DNS configuration of a pod."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Pod:
    """A pod's sandbox as far as its network goes. id: of the sandbox; ip, mac: wanted ones.

    aliases, ip_ranges and networks (by name) are what is asked for beyond CRI (podman, CRI-O).
    """

    id: str
    netns: str
    name: str = "pod"
    namespace: str = "default"
    uid: str = ""
    annotations: Mapping[str, str] = attrs.field(factory=dict)
    ports: Sequence[Port] = ()
    dns: Resolver | None = None
    cgroup_parent: str = ""
    ip: str = ""
    mac: str = ""
    aliases: Sequence[str] = ()
    networks: Sequence[str] = ()
    ip_ranges: Sequence[Sequence[Mapping[str, str]]] = ()


def args_of(
    pod: Pod,
    rules: Pods,
    ambient: Mapping[str, str],
    shuffle: Callable[[list[tuple[str, str]]], None],
) -> tuple[tuple[str, str], ...]:
    """The pairs of CNI_ARGS; `shuffle` puts them into the order of a Go map where that is used.

    Raises ValueError for a name with ";" or "=", which would make pairs of its own.
    """
    pairs = [
        ("IgnoreUnknown", "1"),
        ("K8S_POD_NAMESPACE", pod.namespace),
        ("K8S_POD_NAME", pod.name),
        ("K8S_POD_INFRA_CONTAINER_ID", pod.id),
        ("K8S_POD_UID", pod.uid),
    ]
    if rules.args == "random":
        shuffle(pairs)
    else:
        contract.format_args(pairs)
    if rules.daemon_args:
        pieces = (piece.partition("=") for piece in ambient.get("CNI_ARGS", "").split(";"))
        pairs += [(key, value) for key, equals, value in pieces if equals]
    if rules.static == "args":
        pairs += [(key, value) for key, value in (("IP", pod.ip), ("MAC", pod.mac)) if value]
    return tuple(pairs)


def capabilities_of(pod: Pod, rules: Pods, network: str) -> dict[str, Any]:
    """Capability -> payload: what the runtime has for the pod, in its spelling and nesting.

    Raises ValueError for a bandwidth annotation that is no quantity of bits per second.
    """
    makers: dict[str, Callable[[], Any]] = {
        "portMappings": lambda: [_port(each) for each in pod.ports if each.host_port > 0],
        "bandwidth": lambda: _bandwidth(pod, rules),
        "dns": lambda: _dns(pod.dns, rules),
        "ipRanges": lambda: [[dict(each) for each in ranges] for ranges in pod.ip_ranges],
        "ips": lambda: [pod.ip] if pod.ip and rules.static == "capabilities" else None,
        "mac": lambda: pod.mac if rules.static == "capabilities" else None,
        "aliases": lambda: _aliases(pod, rules, network),
        "cgroupPath": lambda: pod.cgroup_parent,
    }
    capabilities = {name: makers[name]() for name in rules.capabilities if name in makers}
    has = {name: _spelled(value, rules) for name, value in capabilities.items() if value}
    if ANNOTATIONS in rules.capabilities and (pod.annotations or rules.empty == "null"):
        has[ANNOTATIONS] = dict(pod.annotations) or None
    return has


def _port(port: Port) -> Struct:
    address = {"hostIP": port.host_ip} if port.host_ip else {}
    return Struct(
        hostPort=port.host_port,
        containerPort=port.container_port,
        protocol=port.protocol.lower(),
        **address,
    )


def _bandwidth(pod: Pod, rules: Pods) -> dict[str, int]:
    """Rates and bursts in bits per second and bits; empty without an annotation."""
    rates = Struct()
    for side in ("ingress", "egress"):
        text = pod.annotations.get(_BANDWIDTH.format(side))
        rate = bits(text) if text is not None else 0
        if text is not None or not rules.one_sided:
            burst = (rules.burst or min(rate, _MOST_BURST)) if rate else 0
            rates |= {f"{side}Rate": rate, f"{side}Burst": burst}
    if not any(rates.values()):
        return {}
    # CRI-O makes a map of it, which sorts its members; a struct of Go does not.
    return rates if rules.spelling == "go" else dict(rates)


def _dns(dns: Resolver | None, rules: Pods) -> Struct:
    if dns is None:
        return Struct()
    none: list[str] | None = None if rules.empty == "null" else []
    return Struct(
        servers=list(dns.servers) or none,
        searches=list(dns.searches) or none,
        options=list(dns.options) or none,
    )


def _aliases(pod: Pod, rules: Pods, network: str) -> Any:
    aliases = list(pod.aliases)
    return {network: aliases} if aliases and rules.aliases == "map" else aliases


def _spelled(value: Any, rules: Pods) -> Any:
    """The payload with the member names of the profile: conventions, or fields of Go structs."""
    if rules.spelling == "conventions":
        return value
    if isinstance(value, list):
        return [_spelled(item, rules) for item in value]
    if isinstance(value, Struct):
        named = Struct((name[0].upper() + name[1:], item) for name, item in value.items())
        # A field of a Go struct is there, given or not.
        return (
            Struct({**named, "HostIP": named.get("HostIP", "")}) if "HostPort" in named else named
        )
    return value


def bits(text: str) -> int:
    """Bits per second of an annotation such as "10M"; raises ValueError.

    kubelet's bounds: from 1k to 1P.
    """
    parts = _QUANTITY.fullmatch(text)
    value = Decimal(parts[1]) * _SUFFIXES[parts[2]] if parts else Decimal(0)
    if not 1000 <= value <= 10**15:
        raise ValueError(
            f"bandwidth {text!r}: give bits per second from 1k to 1P as a quantity, such as 10M"
        )
    return int(value.to_integral_value(rounding="ROUND_CEILING"))
