"""Hypothesis strategies for what plugins and runtimes exchange: valid documents and near misses.

Every document is in the one form that `encode` gives: nothing empty, no zero where it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_network

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from refimpl.cni.contract import SPECIFIED, Result, decode, format_args
from refimpl.cni.contract.shapes import SHAPES, members

__all__ = [
    "arg_texts",
    "container_ids",
    "documents",
    "error_documents",
    "ifnames",
    "json_values",
    "near_results",
    "results",
]

Document = dict[str, object]
Members = Mapping[str, SearchStrategy[object]]
_NAMES = sorted({member.name for shape in SHAPES.values() for member in shape})
_UNKNOWN = ("x-acme", "acme.example/zone", "Zone", "", "~/")
# The few values that every document has at hand, and that are wrong nearly everywhere.
_TEXTS = ("", "4", "6", "1.1.0", "eth0", "10.1.0.2", "10.1.0.2/24", "fd00::2/64", "0.0.0.0/0")


@cache
def json_values(leaves: int = 8) -> SearchStrategy[object]:
    """Any JSON value, as the reader decodes it: exact integers, other numbers Decimal."""
    text = st.text(st.characters(codec="utf-8"), max_size=4)
    scalars = (
        st.sampled_from([None, True, False, Decimal("1.0"), Decimal("1e400"), 2**70, -(2**70)])
        | st.integers(-(2**63), 2**63)
        | text
    )
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
        max_leaves=leaves,
    )


@cache
def near_results() -> SearchStrategy[Document]:
    """Objects with the members of results, of any version, in any place, with any value."""
    names = st.sampled_from([*_NAMES, *map(str.upper, _NAMES)])
    leaves = st.sampled_from(_TEXTS) | st.integers(-1, 5) | json_values(2)
    inner = st.recursive(
        leaves,
        lambda deeper: st.lists(deeper, max_size=3) | st.dictionaries(names, deeper, max_size=3),
        max_leaves=6,
    )
    return st.dictionaries(names, inner, max_size=4)


def results(
    version: str, *, ipam: bool = False, unknown: bool = True, sandboxes: Sequence[str] = ()
) -> SearchStrategy[Result]:
    """Valid results of that version; the arguments are those of `documents`."""
    generated = documents(version, ipam=ipam, unknown=unknown, sandboxes=sandboxes)
    return generated.map(lambda value: decode(value, version, ipam=ipam))


@st.composite
def documents(
    draw: DrawFn,
    version: str,
    *,
    ipam: bool = False,
    unknown: bool = True,
    sandboxes: Sequence[str] = (),
) -> Document:
    """Valid results of that version as JSON values; up to 0.2.0 with an address at least.

    `ipam`: abbreviated ones. `unknown`: some members that no version defines, on every level.
    `sandboxes`: the values that `sandbox` may have; it may also be absent.
    """
    document: Document = {"cniVersion": version}
    if "ip4" in members("result", version):
        document |= draw(_families(version, unknown))
    else:
        count = 0 if ipam else draw(st.integers(0, 3))
        interface = _interface(version, unknown, tuple(sandboxes) or ("/run/netns/blue",))
        document["interfaces"] = [draw(interface) for _ in range(count)]
        document["ips"] = draw(st.lists(_address(version, unknown, count), max_size=3))
        document["routes"] = draw(st.lists(_route(version, unknown), max_size=3))
    document["dns"] = draw(_dns(unknown))
    filled = {name: inner for name, inner in document.items() if inner not in ([], {})}
    return filled | draw(_object({}, {}, unknown))


def error_documents(version: str) -> SearchStrategy[Document]:
    """Valid error objects for a request of that version."""
    words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
    code = st.sampled_from(sorted(SPECIFIED)) | st.integers(100, 2**32 - 1)
    required = {"cniVersion": st.just(version), "code": code, "msg": words}
    return _object(required, {"details": words}, unknown=False)


def container_ids(max_size: int = 64) -> SearchStrategy[str]:
    """Valid container ids, of at most that many characters."""
    return st.from_regex(rf"[A-Za-z0-9][A-Za-z0-9_.\-]{{0,{max_size - 1}}}", fullmatch=True)


@cache
def ifnames() -> SearchStrategy[str]:
    """Valid interface names: up to 15 bytes of what Linux and the Go library take."""
    plain = st.text("abcxyz019-_.@", min_size=1, max_size=15)
    return plain.filter(lambda name: name not in (".", "..")) | st.text(
        "é雲a", min_size=1, max_size=5
    )


@cache
def arg_texts() -> SearchStrategy[str]:
    """CNI_ARGS texts that can be read."""
    piece = st.text(st.characters(codec="utf-8", exclude_characters=";=\0"), max_size=8)
    return st.lists(st.tuples(piece.filter(bool), piece), max_size=4).map(format_args)


def _object(required: Members, optional: Members, unknown: bool) -> SearchStrategy[Document]:
    """An object of such members, with an unknown one now and then where wanted."""
    known = st.fixed_dictionaries(dict(required), optional=dict(optional))
    return st.builds(Document.__or__, known, _stranger()) if unknown else known


@cache
def _stranger() -> SearchStrategy[Document]:
    one = st.dictionaries(st.sampled_from(_UNKNOWN), json_values(2), min_size=1, max_size=1)
    return st.just(Document()) | st.just(Document()) | one


@cache
def _ips(number: int) -> SearchStrategy[str]:
    if number == 4:
        return st.integers(0, 2**32 - 1).map(lambda n: str(IPv4Address(n)))
    # CNI counts an IPv6 address that maps an IPv4 one as IPv4.
    pure = st.integers(0, 2**128 - 1).filter(lambda n: n >> 32 != 0xFFFF)
    return pure.map(lambda n: str(IPv6Address(n)))


@cache
def _cidrs(number: int) -> SearchStrategy[str]:
    prefixes = st.integers(0, 32 if number == 4 else 128)
    return st.builds(lambda ip, prefix: f"{ip}/{prefix}", _ips(number), prefixes)


@cache
def _mapped() -> SearchStrategy[str]:
    return st.builds(lambda ip, prefix: f"::ffff:{ip}/{prefix}", _ips(4), st.integers(96, 128))


@cache
def _families(version: str, unknown: bool) -> SearchStrategy[Document]:
    """The objects of the first versions: one for each family, or for both."""
    first, second = (_family(number, version, unknown) for number in (4, 6))
    return st.one_of(
        st.fixed_dictionaries({"ip4": first}, optional={"ip6": second}).map(Document),
        st.fixed_dictionaries({"ip6": second}).map(Document),
    )


def _family(number: int, version: str, unknown: bool) -> SearchStrategy[Document]:
    routes = st.lists(_route(version, unknown, (number,)), min_size=1, max_size=2)
    optional = {"gateway": _ips(number), "routes": routes}
    return _object({"ip": _cidrs(number)}, optional, unknown)


@cache
def _address(version: str, unknown: bool, interfaces: int) -> SearchStrategy[Document]:
    index = {"interface": st.integers(0, interfaces - 1)} if interfaces else {}
    versioned = "version" in members("address", version)
    kinds = []
    for number, cidrs in ((4, _cidrs(4)), (6, _cidrs(6)), (4, _mapped())):
        family = {"version": st.just(str(number))} if versioned else {}
        optional = {"gateway": _ips(number), **index}
        kinds.append(_object({**family, "address": cidrs}, optional, unknown))
    return st.one_of(kinds)


@cache
def _route(
    version: str, unknown: bool, numbers: tuple[int, ...] = (4, 6)
) -> SearchStrategy[Document]:
    uint = st.integers(1, 2**32 - 1)
    optional: dict[str, SearchStrategy[object]] = {"mtu": uint, "advmss": uint, "priority": uint}
    optional |= {"table": st.integers(0, 2**32 - 1), "scope": st.sampled_from([0, 200, 253, 254])}
    known = members("route", version)
    defined = {name: values for name, values in optional.items() if name in known}
    kinds = []
    for number in numbers:
        dst = _cidrs(number).map(lambda text: str(ip_network(text, strict=False)))
        kinds.append(_object({"dst": dst}, {"gw": _ips(number), **defined}, unknown))
    return st.one_of(kinds)


@cache
def _interface(version: str, unknown: bool, sandboxes: tuple[str, ...]) -> SearchStrategy[Document]:
    optional: dict[str, SearchStrategy[object]] = {
        "mac": st.binary(min_size=6, max_size=6).map(lambda octets: octets.hex(":")),
        "mtu": st.integers(1, 2**32 - 1),
        "sandbox": st.sampled_from(sandboxes),
        "socketPath": st.just("/run/acme/eth0.sock"),
        "pciID": st.just("0000:3b:02.1"),
    }
    known = members("interface", version)
    defined = {name: values for name, values in optional.items() if name in known}
    return _object({"name": ifnames()}, defined, unknown)


@cache
def _dns(unknown: bool) -> SearchStrategy[Document]:
    search = st.sampled_from(["svc.local", "a.example"])
    optional: dict[str, SearchStrategy[object]] = {
        "nameservers": st.lists(_ips(4) | _ips(6), min_size=1, max_size=2),
        "domain": st.just("cluster.local"),
        "search": st.lists(search, min_size=1, max_size=2),
        "options": st.lists(st.sampled_from(["ndots:5", "rotate"]), min_size=1, max_size=2),
    }
    return _object({}, optional, unknown)
