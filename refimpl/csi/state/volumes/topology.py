"""Places: their grammar, and which a volume or snapshot gets (CSI 1.13 TopologyRequirement).

A fake's places are its zones, one segment each. A term of a requirement fits a place it equals; a
term without segments fits all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from refimpl.csi.state.models import Topology, TopologyRequirement
from refimpl.csi.state.rules import invalid, quoted
from refimpl.csi.state.settings import DriverSettings
from refimpl.wire.status import Code, Refused

Places = tuple[Topology, ...]

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")


def places(settings: DriverSettings) -> Places:
    """All places of the driver, in the order of its zones."""
    return tuple(Topology(((settings.topology_key, zone),)) for zone in settings.zones)


def place_of_node(settings: DriverSettings, index: int) -> Topology:
    """Where node number `index` lies; without zones nowhere in particular."""
    if not settings.zones:
        return Topology()
    zone = settings.zones[index // settings.nodes_per_zone % len(settings.zones)]
    return Topology(((settings.topology_key, zone),))


def check(field: str, requirement: TopologyRequirement) -> None:
    """At least one list, terms well-formed, preferred within requisite where both are given."""
    if not requirement.requisite and not requirement.preferred:
        raise invalid(f"{field} has neither requisite nor preferred; set one, or leave it out")
    for term in (*requirement.requisite, *requirement.preferred):
        check_place(field, term)
    if requirement.requisite and not set(requirement.preferred) <= set(requirement.requisite):
        raise invalid(f"{field}: preferred names a place that requisite does not; add it there")


def check_place(field: str, place: Topology) -> None:
    """Keys and values of a place follow their grammar; keys differ in more than case."""
    keys: set[str] = set()
    for key, value in place.segments:
        prefix, slash, name = key.rpartition("/")
        if not _NAME.fullmatch(name) or (slash and not _PREFIX.fullmatch(prefix)):
            raise invalid(
                f"{field}: {quoted(key)} is no topology key; send [prefix/]name of at most 63"
                " characters each, alphanumeric at both ends"
            )
        if not _NAME.fullmatch(value):
            raise invalid(
                f"{field}: {quoted(value)} is no topology value; send at most 63 characters,"
                " alphanumeric at both ends"
            )
        if key.lower() in keys:
            raise invalid(f"{field}: key {quoted(key)} occurs twice (case does not count)")
        keys.add(key.lower())


def fits(terms: Iterable[Topology], place: Topology) -> bool:
    """True if one of the terms allows the place."""
    return any(not term.segments or term == place for term in terms)


def met(requirement: TopologyRequirement | None, usable: Sequence[Topology]) -> bool:
    """True if an object usable from `usable` satisfies the requirement: from one requisite place,
    or from one of the preferred where there is no requisite."""
    if requirement is None:
        return True
    terms = requirement.requisite or requirement.preferred
    return any(fits(terms, place) for place in usable)


def choose(
    noun: str, requirement: TopologyRequirement | None, possible: Sequence[Topology], count: int
) -> Places:
    """`count` of the possible places (fewer if there are not so many): the preferred ones first,
    then requisite ones, then others. RESOURCE_EXHAUSTED if no place meets the requirement."""
    if requirement is None and possible:
        return tuple(possible[:count])
    order = _ranked(requirement, possible) if requirement else []
    if not order:
        raise Refused(
            Code.RESOURCE_EXHAUSTED,
            f"{noun} can be had in none of the places required; possible are"
            f" {', '.join(_text(place) for place in possible) or 'none'}",
        )
    others = [place for place in possible if place not in order]
    return tuple([*order, *others][:count])


def _ranked(requirement: TopologyRequirement, possible: Sequence[Topology]) -> list[Topology]:
    terms = requirement.requisite or requirement.preferred
    allowed = [place for place in possible if fits(terms, place)]
    ranked = [place for term in requirement.preferred for place in allowed if fits((term,), place)]
    ranked += [place for term in terms for place in allowed if fits((term,), place)]
    return list(dict.fromkeys(ranked))


def _text(place: Topology) -> str:
    return " and ".join(f"{key}={value}" for key, value in place.segments) or "anywhere"
