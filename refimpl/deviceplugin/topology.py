"""What the fake kubelet's topology manager makes of devices and hints, asked without a node.

A hint is text: `{0,1}+` with its NUMA nodes, `+` where it is preferred, `nil+` without nodes. The
questions, by what they give:

- `hints`: nodes, devices (id -> its nodes, none: no topology), unhealthy, in_use, reusable (ids),
  request -> the hints of the resource, None where placement does not matter.
- `merge`: policy, nodes, distances (rows, of all nodes), options of the topology manager, providers
  (each resource -> hints, or None) -> hint, and admitted.
- `buckets`: devices, free (ids), hint -> aligned, unaligned, unplaced (ids).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from refimpl.deviceplugin.state import bitmask, hints, merge, select
from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.models import Device
from refimpl.deviceplugin.state.settings import Settings

__all__ = ["answer", "device_list"]

_RESOURCE = "example.com/dev"


def answer(question: str, values: Mapping[str, Any], settings: Settings) -> Any:
    """The answer of a kubelet with these settings; raises LookupError for another question."""
    return _ANSWERS[question](values, settings)


def device_list(places: Mapping[str, Sequence[int]], unhealthy: Sequence[str] = ()) -> list[Device]:
    """The devices as a plugin lists them, each with its NUMA nodes; none: without topology."""
    return [
        Device(name, "Unhealthy" if name in unhealthy else "Healthy", tuple(nodes) or None)
        for name, nodes in places.items()
    ]


def _hints(values: Mapping[str, Any], settings: Settings) -> list[str] | None:
    devices = Devices()
    devices.take(_RESOURCE, device_list(values["devices"], values["unhealthy"]))
    busy = {*values["in_use"], *values["reusable"]}
    generated = hints.resource_hints(
        devices,
        settings,
        values["nodes"],
        _RESOURCE,
        values["request"],
        free=devices.healthy[_RESOURCE] - busy,
        reusable=values["reusable"],
    )
    return None if generated is None else [_text(hint) for hint in generated]


def _merge(values: Mapping[str, Any], _: Settings) -> dict[str, Any]:
    policy = merge.policy_of(
        values["policy"],
        values["nodes"],
        distances=dict(zip(values["nodes"], values["distances"], strict=False)),
        options=values["options"],
    )
    merged = policy.merge(
        {name: None if texts is None else [*map(_hint, texts)] for name, texts in provider.items()}
        for provider in values["providers"]
    )
    return {"hint": _text(merged.hint), "admitted": merged.admitted}


def _buckets(values: Mapping[str, Any], _: Settings) -> dict[str, list[str]]:
    devices = {device.id: device for device in device_list(values["devices"])}
    buckets = select.split(devices, values["free"], _hint(values["hint"]).mask)
    return {
        "aligned": sorted(buckets.aligned),
        "unaligned": sorted(buckets.unaligned),
        "unplaced": sorted(buckets.unplaced),
    }


_ANSWERS: dict[str, Callable[[Mapping[str, Any], Settings], Any]] = {
    "hints": _hints,
    "merge": _merge,
    "buckets": _buckets,
}


def _hint(text: str) -> hints.Hint:
    nodes = map(int, re.findall(r"\d+", text))
    mask = None if text.startswith("nil") else bitmask.mask_of(nodes)
    return hints.Hint(mask, text.endswith("+"))


def _text(hint: hints.Hint) -> str:
    return str(hint).replace("any", "nil")
