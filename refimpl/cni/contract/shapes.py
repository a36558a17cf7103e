"""The members of every document, version by version, as one literal table (CNI SPEC section 5).

A member that a later version adds is one more row here; `checking` reads nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import attrs

from refimpl.cni.contract import addresses
from refimpl.cni.contract.problem import Kind
from refimpl.cni.contract.versions import version_key

__all__ = ["SHAPES", "Array", "Leaf", "Member", "Object", "Rule", "known", "members"]


@attrs.frozen
class Rule:
    """A condition on a value of the right type: what a breach of it is, and what is wanted."""

    kind: Kind
    wanted: str
    holds: Callable[[Any], bool]


@attrs.frozen
class Leaf:
    """A string or an integer, and its rules; the first one broken is told."""

    type: type[str] | type[int] = str
    rules: tuple[Rule, ...] = ()


@attrs.frozen
class Object:
    """An object whose members are a row of SHAPES."""

    shape: str


@attrs.frozen
class Array:
    """An array of the same thing; `least` is the number of elements it must have."""

    of: Leaf | Object
    least: int = 0


@attrs.frozen
class Member:
    """A member, in which versions it is defined, and where it belongs when not here.

    `until` is the first version without it, `attachment` marks what an IPAM result leaves out,
    `stray` names what has it when this object never does.
    """

    name: str
    node: Leaf | Object | Array = Leaf()
    since: str = "0.1.0"
    until: str = ""
    required: bool = False
    attachment: bool = False
    stray: str = ""

    def defined(self, version: str) -> bool:
        """Whether that version has the member."""
        key = version_key(version)
        gone = bool(self.until) and key >= version_key(self.until)
        return not self.stray and key >= version_key(self.since) and not gone


def _or_empty(holds: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: not text or holds(text)


_TEXT = Leaf()
_FILLED = Leaf(str, (Rule(Kind.VALUE, "a string that is not empty", bool),))
_MAC_FORM = 'a hardware address such as "0a:58:0a:01:00:05"'
_MAC = Leaf(str, (Rule(Kind.FORMAT, _MAC_FORM, _or_empty(addresses.is_mac)),))
_PATH_FORM = Rule(Kind.FORMAT, "an absolute path", _or_empty(lambda text: text.startswith("/")))
_PATH = Leaf(str, (_PATH_FORM,))
_IP = Leaf(str, (Rule(Kind.FORMAT, 'a bare IP such as "10.1.0.1"', addresses.is_address),))
_RESOLVER = Leaf(str, (Rule(Kind.FORMAT, "the IP of a name server", addresses.is_resolver),))
_CIDR_FORM = Rule(Kind.FORMAT, 'an IP with prefix such as "10.1.0.5/16"', addresses.is_cidr)
_CIDR = Leaf(str, (_CIDR_FORM,))
_NORMAL = Rule(Kind.NORMAL, "a destination without host bits", addresses.is_network)
_NETWORK = Leaf(str, (_CIDR_FORM, _NORMAL))
_FAMILY = Leaf(str, (Rule(Kind.VALUE, 'the string "4" or "6"', ("4", "6").__contains__),))
# The kernel keeps all of these in 32 bits, and the scope in 8.
_UINT_RANGE = Rule(Kind.VALUE, "an integer from 0 to 4294967295", lambda n: 0 <= n < 1 << 32)
_UINT = Leaf(int, (_UINT_RANGE,))
_SCOPE_RANGE = Rule(Kind.VALUE, "a scope from 0 to 255", lambda n: 0 <= n < 1 << 8)
_SCOPE = Leaf(int, (_SCOPE_RANGE,))
_INDEX = Leaf(int, (Rule(Kind.INDEX, "an index from 0 on", lambda n: n >= 0),))
_CODE = Leaf(int, (Rule(Kind.CODE, "an integer from 1 on", lambda n: n > 0),))

_ERROR = "error objects"
_RESULT = "success results"
_VERSION = Member("cniVersion", _TEXT, required=True)
# 0.1.0 and 0.2.0: one object for each family.
_FLAT = Object("ip4 or ip6")

SHAPES: Mapping[str, tuple[Member, ...]] = {
    "result": (
        _VERSION,
        Member("ip4", _FLAT, until="0.3.0"),
        Member("ip6", _FLAT, until="0.3.0"),
        Member("interfaces", Array(Object("interface")), since="0.3.0", attachment=True),
        Member("ips", Array(Object("address")), since="0.3.0"),
        Member("routes", Array(Object("route")), since="0.3.0"),
        Member("dns", Object("dns")),
        Member("code", stray=_ERROR),
        Member("msg", stray=_ERROR),
    ),
    "ip4 or ip6": (
        Member("ip", _CIDR, required=True),
        Member("gateway", _IP),
        Member("routes", Array(Object("route"))),
        *(Member(name, stray="elements of ips") for name in ("version", "address", "interface")),
    ),
    "interface": (
        Member("name", _FILLED, required=True),
        Member("mac", _MAC),
        Member("mtu", _UINT, since="1.1.0"),
        Member("sandbox", _TEXT),
        Member("socketPath", _PATH, since="1.1.0"),
        Member("pciID", _TEXT, since="1.1.0"),
    ),
    "address": (
        Member("version", _FAMILY, since="0.3.0", until="1.0.0", required=True),
        Member("interface", _INDEX, attachment=True),
        Member("address", _CIDR, required=True),
        Member("gateway", _IP),
        Member("ip", stray="ip4 and ip6 up to 0.2.0"),
        Member("routes", stray="ip4 and ip6 up to 0.2.0"),
    ),
    "route": (
        Member("dst", _NETWORK, required=True),
        Member("gw", _IP),
        Member("mtu", _UINT, since="1.1.0"),
        Member("advmss", _UINT, since="1.1.0"),
        Member("priority", _UINT, since="1.1.0"),
        Member("table", _UINT, since="1.1.0"),
        Member("scope", _SCOPE, since="1.1.0"),
    ),
    "dns": (
        Member("nameservers", Array(_RESOLVER)),
        Member("domain", _TEXT),
        Member("search", Array(_TEXT)),
        Member("options", Array(_TEXT)),
    ),
    "error": (
        _VERSION,
        Member("code", _CODE, required=True),
        Member("msg", _FILLED, required=True),
        Member("details", _TEXT),
        *(Member(name, stray=_RESULT) for name in ("ip4", "ip6", "interfaces", "ips", "routes")),
    ),
    "VERSION reply": (
        _VERSION,
        Member("supportedVersions", Array(_FILLED, least=1), required=True),
        Member("code", stray=_ERROR),
        Member("msg", stray=_ERROR),
    ),
}


@cache
def members(shape: str, version: str) -> Mapping[str, Member]:
    """What the version defines in an object of that shape, by name."""
    return {member.name: member for member in SHAPES[shape] if member.defined(version)}


@cache
def known(shape: str) -> Mapping[str, Member]:
    """What any version defines there, and the strays, by name."""
    return {member.name: member for member in SHAPES[shape]}
