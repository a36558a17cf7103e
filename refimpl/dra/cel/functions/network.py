"""IP addresses, CIDR blocks and URLs. Source: Kubernetes documentation, "CEL in Kubernetes"; Go's
net/netip and net/url, which decide what is valid."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, ClassVar
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

import attrs

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.functions.tables import Table

__all__ = ["NETWORK", "url"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_LINK_MULTICAST = (ipaddress.ip_network("224.0.0.0/24"), ipaddress.ip_network("ff02::/16"))
_LINK_UNICAST = (ipaddress.ip_network("169.254.0.0/16"), ipaddress.ip_network("fe80::/10"))
_BROADCAST = ipaddress.ip_address("255.255.255.255")
_PREFIX = re.compile(r"(.*)/(0|[1-9][0-9]{0,2})", re.ASCII)
_BAD_HOST = re.compile(r"[\s<>\"%^`{|}\\]|%(?![0-9A-Fa-f]{2})")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_AUTHORITY = re.compile(r"(?:[^@]*@)?(?:\[[^\[\]]*\]|[^:\[\]]*)(?::[0-9]*)?")


@attrs.frozen
class Ip:
    """An address without a zone; IPv4 in IPv6 is none."""

    cel_type: ClassVar = "net.IP"

    address: Address


@attrs.frozen
class Cidr:
    """An address and the length of its prefix."""

    cel_type: ClassVar = "net.CIDR"

    block: Interface


@attrs.frozen
class Url:
    """An absolute URI or an absolute path."""

    cel_type: ClassVar = "kubernetes.URL"

    text: str
    parts: SplitResult = attrs.field(eq=False)


def _address(text: str) -> Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise EvaluationError(f"{text!r} is no IP address") from None
    if isinstance(address, ipaddress.IPv6Address) and (address.scope_id or address.ipv4_mapped):
        raise EvaluationError(f"{text!r}: IPv4 in IPv6 and zones are not allowed")
    return address


def _ip(text: str) -> Ip:
    return Ip(_address(text))


def _cidr(text: str) -> Cidr:
    match = _PREFIX.fullmatch(text)
    if match is None:
        raise EvaluationError(f"{text!r} is no CIDR block, such as 10.0.0.0/8")
    address = _address(match[1])
    if int(match[2]) > address.max_prefixlen:
        raise EvaluationError(f"{text!r} has a prefix longer than {address.max_prefixlen}")
    return Cidr(ipaddress.ip_interface((address, int(match[2]))))


def url(text: str) -> Url:
    """Raises EvaluationError."""
    problem = EvaluationError(f"{text!r} is no URL: an absolute URI, or a path that begins with /")
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text) or "#" in text:
        raise problem
    scheme, colon, rest = text.partition(":")
    absolute = bool(colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme))
    if not text.startswith("/") and not (absolute and (rest.startswith("/") or rest)):
        raise problem
    try:
        parts = urlsplit(text)
    except ValueError:
        raise problem from None
    if _BAD_ESCAPE.search(parts.path) or _BAD_HOST.search(parts.netloc):
        raise problem
    if not _AUTHORITY.fullmatch(parts.netloc):
        raise problem
    return Url(text, parts)


def _succeeds(read: Callable[[str], Any]) -> Callable[[str], bool]:
    def compute(text: str) -> bool:
        try:
            read(text)
        except EvaluationError:
            return False
        return True

    return compute


def _within(blocks: tuple[Any, ...]) -> Callable[[Ip], bool]:
    return lambda ip: any(ip.address in block for block in blocks)


def _global_unicast(ip: Ip) -> bool:
    address = ip.address
    special = address.is_unspecified or address.is_loopback or address.is_multicast
    return not special and address != _BROADCAST and not _within(_LINK_UNICAST)(ip)


def _canonical(text: str) -> bool:
    return str(_address(text)) == text


def _contains_ip(cidr: Cidr, ip: Ip | str) -> bool:
    return (_ip(ip) if isinstance(ip, str) else ip).address in cidr.block.network


def _contains_cidr(cidr: Cidr, other: Cidr | str) -> bool:
    block = (_cidr(other) if isinstance(other, str) else other).block
    outer = cidr.block.network
    return block.ip in outer and block.network.prefixlen >= outer.prefixlen


def _masked(cidr: Cidr) -> Cidr:
    network = cidr.block.network
    return Cidr(ipaddress.ip_interface((network.network_address, network.prefixlen)))


def _host(value: Url) -> str:
    return value.parts.netloc.rpartition("@")[2]


def _hostname(value: Url) -> str:
    host = _host(value)
    return host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]


def _port(value: Url) -> str:
    return _host(value).rpartition("]")[2].partition(":")[2]


def _escaped_path(value: Url) -> str:
    path = value.parts.path
    plain = quote(unquote(path), safe="/$&+,:;=@!'()*~")
    return path if unquote(path) != path or plain == path else plain


def _query(value: Url) -> dict[str, list[str]]:
    return parse_qs(value.parts.query, keep_blank_values=True)


_IP, _CIDR, _URL = Ip.cel_type, Cidr.cel_type, Url.cel_type

NETWORK: Table = {
    f"ip(string) {_IP}": _ip,
    "isIP(string) bool": _succeeds(_ip),
    "ip.isCanonical(string) bool": _canonical,
    f"{_IP}::family() int": lambda ip: ip.address.version,
    f"{_IP}::isUnspecified() bool": lambda ip: ip.address.is_unspecified,
    f"{_IP}::isLoopback() bool": lambda ip: ip.address.is_loopback,
    f"{_IP}::isLinkLocalMulticast() bool": _within(_LINK_MULTICAST),
    f"{_IP}::isLinkLocalUnicast() bool": _within(_LINK_UNICAST),
    f"{_IP}::isGlobalUnicast() bool": _global_unicast,
    f"string({_IP}) string": lambda ip: str(ip.address),
    f"cidr(string) {_CIDR}": _cidr,
    "isCIDR(string) bool": _succeeds(_cidr),
    f"{_CIDR}::containsIP(string) bool": _contains_ip,
    f"{_CIDR}::containsIP({_IP}) bool": _contains_ip,
    f"{_CIDR}::containsCIDR(string) bool": _contains_cidr,
    f"{_CIDR}::containsCIDR({_CIDR}) bool": _contains_cidr,
    f"{_CIDR}::ip() {_IP}": lambda cidr: Ip(cidr.block.ip),
    f"{_CIDR}::prefixLength() int": lambda cidr: cidr.block.network.prefixlen,
    f"{_CIDR}::masked() {_CIDR}": _masked,
    f"string({_CIDR}) string": lambda cidr: str(cidr.block),
    f"url(string) {_URL}": url,
    "isURL(string) bool": _succeeds(url),
    f"{_URL}::getScheme() string": lambda value: value.parts.scheme,
    f"{_URL}::getHost() string": _host,
    f"{_URL}::getHostname() string": _hostname,
    f"{_URL}::getPort() string": _port,
    f"{_URL}::getEscapedPath() string": _escaped_path,
    f"{_URL}::getQuery() map(string, list(string))": _query,
}
