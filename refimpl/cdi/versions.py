"""Versions of the CDI specification and what each one added (SPEC, "Released versions").

A document must declare at least the version that knows everything it uses. The Go library looks at
values: a field that is present but empty needs nothing. `presence` looks at names: a reader of the
older version refuses a field it does not know, empty or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from refimpl.cdi.names import split_kind
from refimpl.documents import Pointer

VERSIONS = (
    "0.1.0",
    "0.2.0",
    "0.3.0",
    "0.4.0",
    "0.5.0",
    "0.6.0",
    "0.7.0",
    "0.8.0",
    "1.0.0",
    "1.1.0",
)
FLOOR = "0.3.0"
"""The first tagged release; older versions have names, but no loader takes them."""
LATEST = VERSIONS[-1]

Test = Callable[[Any], bool]


def _given(value: Any) -> bool:
    """What Go takes for more than the zero value."""
    return bool(value)


def _not_null(value: Any) -> bool:
    return value is not None


def _dotted(kind: Any) -> bool:
    return isinstance(kind, str) and "/" in kind and "." in split_kind(kind)[1]


def _digit_first(name: Any) -> bool:
    text = str(name) if isinstance(name, int) else name
    return isinstance(text, str) and text[:1] in set("0123456789")


@attrs.frozen
class SpecFeature:
    """Something that came with a version: where it stands in its object ("*": each item), what it
    is, when a value makes use of it. `field`: the name itself came, so that its presence is a use.
    """

    since: str
    path: tuple[str, ...]
    what: str
    used: Test = _given
    field: bool = True


@attrs.frozen
class Use:
    """A feature found in a document; `empty`: its name is there, but nothing that counts."""

    feature: SpecFeature
    pointer: Pointer
    empty: bool = False


_DOCUMENT = (
    SpecFeature("0.6.0", ("annotations",), "annotations"),
    SpecFeature("0.6.0", ("kind",), "a dot in the class", _dotted, field=False),
)

_DEVICE = (
    SpecFeature(
        "0.5.0", ("name",), "a device name starting with a digit", _digit_first, field=False
    ),
    SpecFeature("0.6.0", ("annotations",), "annotations of a device"),
)

_EDITS = (
    SpecFeature("0.4.0", ("mounts", "*", "type"), "the type of a mount"),
    SpecFeature("0.5.0", ("deviceNodes", "*", "hostPath"), "hostPath of a device node"),
    SpecFeature("0.7.0", ("intelRdt",), "intelRdt", _not_null),
    SpecFeature("0.7.0", ("additionalGids",), "additionalGids"),
    SpecFeature("1.1.0", ("netDevices",), "netDevices"),
    SpecFeature("1.1.0", ("intelRdt", "schemata"), "intelRdt.schemata", _not_null),
    SpecFeature("1.1.0", ("intelRdt", "enableMonitoring"), "intelRdt.enableMonitoring"),
)

FEATURES: dict[tuple[str, ...], tuple[SpecFeature, ...]] = {
    (): _DOCUMENT,
    ("devices", "*"): _DEVICE,
    ("containerEdits",): _EDITS,
    ("devices", "*", "containerEdits"): _EDITS,
}
"""Everything that came after the floor, by the place of the object that it belongs to."""

GONE = {"enableCMT": ("0.7.0", "1.1.0"), "enableMBM": ("0.7.0", "1.1.0")}
"""Members of intelRdt that the specification had from one version until before another."""


def normal(version: str) -> str:
    """The version without the leading "v" that loaders tolerate."""
    return version.removeprefix("v")


def known(version: str) -> bool:
    """Whether the version has ever been one, the two before the floor included."""
    return normal(version) in VERSIONS


def at_least(version: str, least: str) -> bool:
    """Whether a known version is `wanted` or later. Raises ValueError for an unknown one."""
    return VERSIONS.index(normal(version)) >= VERSIONS.index(normal(least))


def uses(document: Any, *, presence: bool = False) -> Iterator[Use]:
    """The features that a decoded document makes use of, whatever else is wrong with it."""
    for scope, features in FEATURES.items():
        for base, owner in found(document, scope):
            for feature in features if isinstance(owner, dict) else ():
                if feature.path[0] not in owner:
                    continue
                for pointer, value in found(owner, feature.path, base):
                    empty = not feature.used(value)
                    if not empty or (presence and feature.field):
                        yield Use(feature, pointer, empty)


def minimum_version(document: Any, *, presence: bool = False) -> str:
    """The lowest version that a decoded document may declare."""
    needed = {use.feature.since for use in uses(document, presence=presence)} | {FLOOR}
    return max(needed, key=VERSIONS.index)


def found(
    value: Any, path: tuple[str, ...], pointer: Pointer = ()
) -> Iterator[tuple[Pointer, Any]]:
    """(pointer, value) of everything in a decoded document that the path leads to."""
    if not path:
        yield pointer, value
    elif path[0] == "*" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from found(item, path[1:], (*pointer, index))
    elif isinstance(value, dict) and path[0] in value:
        yield from found(value[path[0]], path[1:], (*pointer, path[0]))
