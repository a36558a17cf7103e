"""Random allocation problems: slices of a few nodes, and claims that may or may not fit."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["NODES", "problem"]

DRIVERS = ("a.example.com", "b.example.com")
NODES = {"n1": {"zone": "z1"}, "n2": {"zone": "z2"}}
_MODELS, _NUMBERS = ("X", "Y"), (1, 2)
_AMOUNTS = ("1", "2", "3", "4")

Choices = random.Random


def problem(choices: Choices) -> dict[str, Any]:
    """Objects of v1: slices, classes, claims of a pod, and claims that were allocated before."""
    return {
        "slices": _slices(choices),
        "classes": [
            _object(f"c{index}", {"selectors": _selectors(choices, driver)})
            for index, driver in enumerate(DRIVERS)
        ],
        "claims": [_claim(choices, f"claim{n}") for n in range(choices.randint(1, 2))],
        "before": [_claim(choices, f"before{n}") for n in range(choices.randint(0, 2))],
    }


def _object(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def _maybe(choices: Choices, chance: float, **fields: Any) -> dict[str, Any]:
    return fields if choices.random() < chance else {}


def _selectors(choices: Choices, driver: str) -> list[dict[str, Any]]:
    texts = [f'device.driver == "{driver}"']
    if choices.random() < 0.1:
        texts.append(f'device.attributes["{driver}"].model == "X"')
    return [{"cel": {"expression": text}} for text in texts]


def _slices(choices: Choices) -> list[dict[str, Any]]:
    slices = []
    for number in range(choices.randint(1, 4)):
        count = choices.choice((1, 1, 1, 2))
        driver, pool = choices.choice(DRIVERS), f"p{number}"
        place = choices.choice(
            (
                {"nodeName": "n1"},
                {"nodeName": "n1"},
                {"nodeName": "n2"},
                {"allNodes": True},
                {"nodeSelector": {"nodeSelectorTerms": [_zone("z1")]}},
            )
        )
        partitioned = choices.random() < 0.25
        total = count + partitioned
        wanted = total if choices.random() < 0.93 else total + 1
        base = {
            "driver": driver,
            "pool": {
                "name": pool,
                "generation": choices.randint(1, 2),
                "resourceSliceCount": wanted,
            },
            **place,
        }
        for part in range(count):
            devices = [
                _device(choices, f"d{part}{index}", driver, partitioned)
                for index in range(choices.randint(1, 4))
            ]
            slices.append(_object(f"s{number}-{part}", {**base, "devices": devices}))
        if partitioned:
            counters = {"m": {"value": choices.choice(("2", "4", "6"))}}
            sets = [{"name": "set", "counters": counters}]
            slices.append(_object(f"s{number}-sets", {**base, "sharedCounters": sets}))
    choices.shuffle(slices)
    return slices


def _zone(name: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "zone", "operator": "In", "values": [name]}]}


def _device(choices: Choices, name: str, driver: str, partitioned: bool) -> dict[str, Any]:
    numa = {"int": choices.choice(_NUMBERS)} if choices.random() < 0.8 else {"string": "1"}
    attributes: dict[str, Any] = {"model": {"string": choices.choice(_MODELS)}}
    attributes[choices.choice(("numa", f"{driver}/numa", "std.example.com/numa"))] = numa
    shared = choices.random() < 0.25
    policy = choices.choice(
        (
            {},
            {"default": "1"},
            {"default": "1", "validValues": ["1", "2", "4"]},
            {"default": "2", "validRange": {"min": "2", "step": "2", "max": "4"}},
        )
    )
    amount = {"value": choices.choice(("4", "6"))}
    amount |= {"requestPolicy": policy} if shared and policy else {}
    effect = choices.choice(("NoSchedule", "NoExecute", "None"))
    used = [{"counterSet": "set", "counters": {"m": {"value": choices.choice(("1", "2", "3"))}}}]
    conditions = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    return {
        "name": name,
        "attributes": attributes,
        **_maybe(choices, 0.6, capacity={"mem": amount}),
        **({"allowMultipleAllocations": True} if shared else {}),
        **_maybe(choices, 0.2, taints=[{"key": "k", "value": "v", "effect": effect}]),
        **({"consumesCounters": used} if partitioned and choices.random() < 0.8 else {}),
        **_maybe(choices, 0.1, **conditions),
        **_maybe(choices, 0.1, bindsToNode=True),
    }


def _claim(choices: Choices, name: str) -> dict[str, Any]:
    requests = [_request(choices, f"r{n}") for n in range(choices.randint(1, 3))]
    names = [each["name"] for each in requests]
    names += [
        f"{each['name']}/{sub['name']}"
        for each in requests
        for sub in each.get("firstAvailable", ())
    ]
    devices: dict[str, Any] = {"requests": requests}
    if choices.random() < 0.4:
        kind = choices.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
        attribute = choices.choice(
            (f"{DRIVERS[0]}/numa", "std.example.com/numa", f"{DRIVERS[0]}/model")
        )
        scope = _maybe(choices, 0.5, requests=[choices.choice(names)])
        devices["constraints"] = [{kind: attribute, **scope}]
    if choices.random() < 0.3:
        opaque = {"driver": DRIVERS[0], "parameters": {"a": 1}}
        scope = _maybe(choices, 0.7, requests=[choices.choice(names)])
        devices["config"] = [{"opaque": opaque, **scope}]
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"devices": devices}}


def _request(choices: Choices, name: str) -> dict[str, Any]:
    if choices.random() < 0.2:
        subs = [{"name": f"s{n}", **_asked(choices)} for n in range(choices.randint(1, 3))]
        return {"name": name, "firstAvailable": subs}
    admin = _maybe(choices, 0.08, adminAccess=True)
    return {"name": name, "exactly": {**_asked(choices), **admin}}


def _asked(choices: Choices) -> dict[str, Any]:
    number = choices.randrange(2)
    everything = choices.random() < 0.1
    how = (
        {"allocationMode": "All"}
        if everything
        else {
            "allocationMode": "ExactCount",
            "count": choices.choice((1, 1, 1, 2, 3)),
        }
    )
    model = f'device.attributes["{DRIVERS[number]}"].model == "{choices.choice(_MODELS)}"'
    toleration = choices.choice(
        ({"operator": "Exists"}, {"key": "k", "operator": "Equal", "value": choices.choice("vw")})
    )
    return {
        "deviceClassName": f"c{number}",
        **how,
        **_maybe(choices, 0.3, selectors=[{"cel": {"expression": model}}]),
        **_maybe(choices, 0.3, tolerations=[toleration]),
        **_maybe(choices, 0.3, capacity={"requests": {"mem": choices.choice(_AMOUNTS)}}),
    }
