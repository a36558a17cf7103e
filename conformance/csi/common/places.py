"""Topology: the grammar of a place, and from where a volume can be used (CSI 1.13, Topology)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from refimpl.csi.api import csi_pb2 as pb

Place = Mapping[str, str]

_SEGMENT = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")


def problems(place: Place) -> Iterator[str]:
    """What breaks the grammar of a place, as phrases; nothing where it is well-formed."""
    seen = set()
    for key, value in place.items():
        prefix, slash, name = key.rpartition("/")
        if not _SEGMENT.fullmatch(name) or (slash and not _PREFIX.fullmatch(prefix)):
            yield f"{key!r} is no [prefix/]name"
        if not _SEGMENT.fullmatch(value):
            yield f"{value!r} is no value"
        if key.lower() in seen:
            yield f"{key!r} differs from another key in case only"
        seen.add(key.lower())


def prefixes(keys: Iterable[str]) -> set[str]:
    """The prefixes of topology keys, "" where a key has none."""
    return {key.rpartition("/")[0] for key in keys}


def usable_from(volume: pb.Volume, place: Place) -> bool:
    """Whether a volume can be used at a place. One that names no topology can be used anywhere."""
    return not volume.accessible_topology or any(
        place.items() >= topology.segments.items() for topology in volume.accessible_topology
    )


def nowhere(place: Place) -> dict[str, str]:
    """A place that does not exist, of the shape of one that does."""
    return dict.fromkeys(place, "refimpl-nowhere")
