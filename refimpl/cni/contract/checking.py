"""Everything that is wrong with a decoded document, by the table of `shapes`.

The values are those of `refimpl.documents.json`: integers are int, other numbers Decimal, so that
1.0 where an integer belongs is seen.
"""

from __future__ import annotations

from functools import cache

from refimpl.cni.contract.agreement import disagreements
from refimpl.cni.contract.errors import allowed_code
from refimpl.cni.contract.problem import (
    Kind,
    Problem,
    ShapeError,
    describe,
    is_integer,
    pointer,
    wanted,
)
from refimpl.cni.contract.shapes import Array, Leaf, Member, Object, known, members
from refimpl.cni.contract.versions import LATEST, VERSIONS

__all__ = ["error_problems", "problems", "supported_versions", "version_problems"]


def problems(value: object, version: str, *, ipam: bool = False) -> list[Problem]:
    """Every way in which a decoded JSON value is not a result of exactly that version.

    `ipam`: the abbreviated result of a delegate, without interfaces; it may omit cniVersion.
    Members that no version defines are no problem. An unknown `version` is the only problem then.
    Source: CNI SPEC section 5, ADD success.
    """
    version = version or VERSIONS[0]
    if version not in VERSIONS:
        text = f"no result of version {version!r} is known; known are {', '.join(VERSIONS)}"
        return [Problem("/cniVersion", text, Kind.VERSION)]
    # An absent version always meant the first one.
    check = _Check(version, ipam=ipam, unversioned=ipam or version == VERSIONS[0])
    check.walk(value, "result", "")
    if isinstance(value, dict):
        check.same_version(value)
        check.problems += disagreements(value, version)
    return check.problems


def error_problems(value: object, version: str) -> list[Problem]:
    """Every way in which a decoded JSON value is not an error object for a request of that version.

    A missing cniVersion is among them (Kind.MISSING): the specification only says "should".
    Source: CNI SPEC section 5, Error.
    """
    check = _Check(version or VERSIONS[0])
    check.walk(value, "error", "")
    if isinstance(value, dict):
        check.same_version(value)
        code = value.get("code")
        if is_integer(code) and code > 0 and not allowed_code(code):
            text = "wanted a code of the specification's table, or one from 100 on"
            check.add("/code", f"{text}, got {describe(code)}", Kind.CODE)
    return check.problems


def version_problems(value: object, version: str) -> list[Problem]:
    """Every way in which a value is not the reply to VERSION with `cniVersion` = `version`.

    A reply of 0.2.0 without a list is told too, though runtimes bear it (`supported_versions`).
    Source: CNI SPEC section 5, VERSION success.
    """
    check = _Check(version or VERSIONS[0])
    check.walk(value, "VERSION reply", "")
    if isinstance(value, dict):
        check.same_version(value)
    return check.problems


def supported_versions(value: object) -> tuple[str, ...]:
    """The versions that a reply to VERSION offers, in its order.

    A reply of 0.2.0 may do without the list. Raises ShapeError when no list can be read.
    """
    reply = value if isinstance(value, dict) else {}
    if reply.get("cniVersion") == "0.2.0" and reply.get("supportedVersions") in (None, []):
        return VERSIONS[:2]
    check = _Check(LATEST)
    check.walk(value, "VERSION reply", "")
    harmless = (Kind.FOREIGN, Kind.SPELLING)
    fatal = [each for each in check.problems if each.kind not in harmless]
    if fatal:
        raise ShapeError("a reply to VERSION", fatal)
    return tuple(reply["supportedVersions"])


class _Check:
    """One walk over a document; `problems` grows in the order of the document."""

    def __init__(self, version: str, *, ipam: bool = False, unversioned: bool = False) -> None:
        self.version = version
        # A reply to VERSION, or an error, may name a version that has no shapes here.
        self._shapes = version if version in VERSIONS else LATEST
        self._ipam = ipam
        self._unversioned = unversioned
        self.problems: list[Problem] = []

    def add(self, at: str, text: str, kind: Kind) -> None:
        self.problems.append(Problem(at, text, kind))

    def same_version(self, value: dict[str, object]) -> None:
        named = value.get("cniVersion", self.version)
        if isinstance(named, str) and named != self.version:
            text = wanted(f"the version of the request, {self.version!r}", named)
            self.add("/cniVersion", text, Kind.VERSION)

    def walk(self, value: object, shape: str, at: str) -> None:
        if not isinstance(value, dict):
            return self.add(at, wanted("an object", value), Kind.TYPE)
        defined = members(shape, self._shapes)
        for name, inner in value.items():
            below = pointer(at, name)
            member = defined.get(name)
            if member is None or (self._ipam and member.attachment):
                self._undefined(name, shape, below)
            else:
                self._member(inner, member, below)
        for member in defined.values():
            if member.required and member.name not in value:
                self._missing(member, pointer(at, member.name))
        return None

    def _undefined(self, name: str, shape: str, at: str) -> None:
        member = known(shape).get(name)
        if member is not None:
            self.add(at, self._foreign(member, shape), Kind.FOREIGN)
        elif right := _spellings(shape).get(name.casefold()):
            text = f"wanted {right!r}, got {name[:60]!r}: letter case counts in JSON"
            self.add(at, text, Kind.SPELLING)

    def _foreign(self, member: Member, shape: str) -> str:
        if member.stray:
            return f"wanted nothing here, got {member.name!r}, which belongs to {member.stray}"
        if member.defined(self._shapes):
            return f"wanted nothing here, got {member.name!r}, which no IPAM result has"
        span = f"defined since {member.since}"
        if member.until:
            span = f"defined from {member.since} until before {member.until}"
        name = f"{member.name!r} of {_an(shape)}"
        return f"wanted nothing here at {self._shapes}, got {name}, {span}"

    def _missing(self, member: Member, at: str) -> None:
        if member.name == "cniVersion":
            if self._unversioned:
                return
            what = f"the version of the request, {self.version!r}"
        else:
            what = _wanted(member.node)
        self.add(at, f"wanted {what}, got nothing", Kind.MISSING)

    def _member(self, value: object, member: Member, at: str) -> None:
        if value is None and not member.required:
            text = f"wanted {_wanted(member.node)}, or no such member at all, got null"
            return self.add(at, text, Kind.NULL)
        return self._node(value, member.node, at)

    def _node(self, value: object, node: Leaf | Object | Array, at: str) -> None:
        if isinstance(node, Object):
            return self.walk(value, node.shape, at)
        if isinstance(node, Leaf):
            return self._leaf(value, node, at)
        if not isinstance(value, list):
            return self.add(at, wanted("an array", value), Kind.TYPE)
        if len(value) < node.least:
            self.add(at, wanted(f"an array of at least {node.least}", value), Kind.VALUE)
        for number, inner in enumerate(value):
            self._node(inner, node.of, pointer(at, number))
        return None

    def _leaf(self, value: object, leaf: Leaf, at: str) -> None:
        right = is_integer(value) if leaf.type is int else isinstance(value, str)
        if not right:
            return self.add(at, wanted(_wanted(leaf), value), Kind.TYPE)
        for rule in leaf.rules:
            if not rule.holds(value):
                return self.add(at, wanted(rule.wanted, value), rule.kind)
        return None


def _wanted(node: Leaf | Object | Array) -> str:
    if isinstance(node, Leaf):
        plain = "a string" if node.type is str else "an integer"
        return node.rules[0].wanted if node.rules else plain
    return "an object" if isinstance(node, Object) else "an array"


def _an(shape: str) -> str:
    return f"{'an' if shape[0] in 'aeiou' else 'a'} {shape}"


@cache
def _spellings(shape: str) -> dict[str, str]:
    return {name.casefold(): name for name in known(shape)}
