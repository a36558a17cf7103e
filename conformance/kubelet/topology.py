"""What our fake kubelet answers when it is asked what it makes of devices and hints.

A hint is text as in fixtures/vectors/topology.toml: `{0,1}+`. The questions, by what they give:

- `hints`: nodes, devices (id -> its nodes, none: no topology), unhealthy, in_use, reusable (ids),
  request -> the hints of the resource, None where it does not care.
- `merge`: policy, nodes, distances (rows, of all nodes), options of the topology manager, providers
  (each resource -> hints, or None) -> hint, and admitted.
- `buckets`: devices, free (ids), hint -> aligned, unaligned, unplaced (ids).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.deviceplugin.vectors.vectors import nodes_in
from refimpl.deviceplugin.state import bitmask, hints, merge, select
from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.models import Device
from refimpl.deviceplugin.state.settings import Settings

__all__ = ["answer", "devices_of"]

_RESOURCE = "example.com/dev"


def answer(question: str, values: Mapping[str, Any], settings: Settings) -> Any:
    """The answer of a kubelet with these settings; raises LookupError for another question."""
    return _ANSWERS[question](values, settings)


def devices_of(places: Mapping[str, Sequence[int]], unhealthy: Sequence[str] = ()) -> list[Device]:
    """As a plugin lists them."""
    return [
        Device(name, "Unhealthy" if name in unhealthy else "Healthy", tuple(nodes) or None)
        for name, nodes in places.items()
    ]


def _hints(values: Mapping[str, Any], settings: Settings) -> list[str] | None:
    devices = Devices()
    devices.take(_RESOURCE, devices_of(values["devices"], values["unhealthy"]))
    busy = {*values["in_use"], *values["reusable"]}
    made = hints.resource_hints(
        devices,
        settings,
        values["nodes"],
        _RESOURCE,
        values["request"],
        free=devices.healthy[_RESOURCE] - busy,
        reusable=values["reusable"],
    )
    return None if made is None else [_text(hint) for hint in made]


def _merge(values: Mapping[str, Any], _: Settings) -> dict[str, Any]:
    policy = merge.policy_of(
        values["policy"],
        values["nodes"],
        distances=dict(zip(values["nodes"], values["distances"], strict=False)),
        options=values["options"],
    )
    merged = policy.merge(
        {name: None if made is None else [*map(_hint, made)] for name, made in provider.items()}
        for provider in values["providers"]
    )
    return {"hint": _text(merged.hint), "admitted": merged.admitted}


def _buckets(values: Mapping[str, Any], _: Settings) -> dict[str, list[str]]:
    known = {device.id: device for device in devices_of(values["devices"])}
    found = select.split(known, values["free"], _hint(values["hint"]).mask)
    named = {"aligned": found.aligned, "unaligned": found.unaligned, "unplaced": found.unplaced}
    return {name: sorted(ids) for name, ids in named.items()}


_ANSWERS: dict[str, Callable[[Mapping[str, Any], Settings], Any]] = {
    "hints": _hints,
    "merge": _merge,
    "buckets": _buckets,
}


def _hint(text: str) -> hints.Hint:
    nodes = nodes_in(text)
    mask = None if nodes is None else bitmask.mask_of(nodes)
    return hints.Hint(mask, text.endswith("+"))


def _text(hint: hints.Hint) -> str:
    return str(hint).replace("any", "nil")
