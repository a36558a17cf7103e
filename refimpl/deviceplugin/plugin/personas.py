"""Named device plugins: what they offer and how they behave, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import attrs

from refimpl.deviceplugin.state.models import Device

__all__ = ["PERSONAS", "Persona", "devices_of", "persona_of"]

Gift = Literal["devices", "mounts", "annotations", "cdi"]


@attrs.frozen
class Persona:
    """How a plugin behaves.

    `count` devices where none are given, spread in turn over `numa` NUMA nodes. Allocate answers
    with environment variables and what `gives` names. `delay_s` passes before every answer;
    every `flap_s` the first device changes its health. `lies` and `dies`: see `serving`.
    """

    name: str
    count: int = 4
    numa: int = 0
    preferred: bool = False
    pre_start: bool = False
    gives: frozenset[Gift] = frozenset({"devices"})
    delay_s: float = 0.0
    flap_s: float = 0.0
    lies: bool = False
    dies: bool = False


_ALL = (
    Persona("healthy"),
    Persona("flapping", flap_s=1.0),
    # Well within the 30 s that kubelet gives PreStartContainer: slow, and yet to be borne.
    Persona("slow", delay_s=3.0, preferred=True, pre_start=True),
    Persona("lying", lies=True, preferred=True),
    Persona("dying", dies=True),
    Persona("many", count=10_000),
    Persona("topology", count=8, numa=2, preferred=True),
    Persona("cdi", gives=frozenset({"cdi"})),
    Persona("annotations", gives=frozenset({"devices", "annotations"})),
    Persona("mounts", gives=frozenset({"mounts"})),
)

PERSONAS: Mapping[str, Persona] = {persona.name: persona for persona in _ALL}


def persona_of(name: str) -> Persona:
    """The persona of that name; ValueError names those there are."""
    if name not in PERSONAS:
        raise ValueError(f"there is no persona {name!r}; known are {', '.join(PERSONAS)}")
    return PERSONAS[name]


def devices_of(
    persona: Persona, resource: str, given: int | Iterable[Device | str] | None
) -> list[Device]:
    """The devices to begin with: those given, or as many, or as many as the persona has.

    They are called after the resource: gpu-0, gpu-1, ... Raises ValueError for a negative number.
    """
    if given is None:
        given = persona.count
    if isinstance(given, int):
        if given < 0:
            raise ValueError(f"{resource}={given}: a plugin has no device, or some")
        stem = resource.rpartition("/")[2]
        given = [f"{stem}-{number}" for number in range(given)]
    return [
        Device(each, nodes=(number % persona.numa,) if persona.numa else None)
        if isinstance(each, str)
        else each
        for number, each in enumerate(given)
    ]
