"""Worst cases as Kubernetes 1.37.2 gives them; the numbers are those of its own compiler."""

from __future__ import annotations

import pytest

from refimpl.dra.cel import Device, EvaluationError, TooExpensive, compiled, selector

COSTS = {
    "true": 0,
    'device.driver == "d"': 3,
    'device.attributes["drv.example.com"].model == "X"': 5,
    'has(device.attributes["drv.example.com"].model)': 3,
    '!!has(device.attributes["drv.example.com"].model)': 3,
    "[1,2,3].all(x, x > 1)": 26,
    "device.attributes.all(k, device.attributes.all(l, k == l || k != l))": 21699,
    'device.capacity["drv.example.com"].all(k, v, k == "a")': 132,
    'device.attributes["drv.example.com"].all(k, v, k == "a")': 164,
    'cel.bind(a, device.attributes["drv.example.com"], a.index < 4 && a.model == "X")': 19,
    "[1,2].sortBy(x, -x) == [2,1]": 91,
    'device.driver.split(",").exists(x, x.startsWith("a"))': 394,
    'device.driver.replace("a", "bb") == "b"': 16,
    'device.driver.matches("^a.*b$")': 16,
    'device.driver.find("[a-z]+") == "a"': 17,
    '"a" + device.driver + "b" == "c"': 17,
    'device.driver.contains("abc")': 9,
    '[device.driver, "b"].join(",") == "a"': 1844674407370955277,
    '{"a": 1, "b": 2}.exists(k, v, v == 2)': 43,
    'cidr("10.0.0.0/8").containsIP("10.0.0.1")': 6,
    'cidr("10.0.0.0/8").containsCIDR(cidr("10.1.0.0/16"))': 10,
    'ip.isCanonical("10.0.0.1")': 2,
    "format.dns1123Label().validate(device.driver).hasValue()": 228,
    'semver("1.2.3").isLessThan(semver("1.2.4"))': 3,
    'device.capacity["drv.example.com"].mem == quantity("1Gi")': 6,
    'url("http://a/b").getHost() == "a"': 3,
    "sets.contains([1,2,3],[1,2])": 27,
    "[3,1,2].sort() == [1,2,3]": 50,
    "[1,1].distinct() == [1]": 40,
    "[1,2,3].slice(0,2) == [1,2]": 34,
    "lists.range(10).size() == 10": 23,
    'device.attributes["drv.example.com"].?model.orValue("a") == "b"': 6,
    '[?device.attributes["drv.example.com"].?index].size() == 1': 16,
    'true ? device.driver == "a" : device.driver == "bcd"': 3,
    'dyn(device.driver) == "a"': 4,
    '"%s-%d".format(["a", 1]) == "a-1"': 12,
    'strings.quote(device.driver) == "a"': 10,
    '"a" in ["a", "b"]': 12,
    'device.driver.lowerAscii().indexOf("a") == 0': 17,
    '["a","b"].isSorted()': 3689348814741910540,
    "[1,2].transformMap(i, v, v).size() == 2": 51,
    'string(b"abc") == "abc"': 2,
    'bytes("abc").size() == 3': 3,
}


@pytest.mark.parametrize("expression", COSTS)
def test_the_worst_case_is_that_of_kubernetes(expression: str) -> None:
    """To the unit: it decides what is taken."""
    assert compiled(expression).cost == COSTS[expression]


def test_more_than_the_limit_is_refused_when_it_is_new() -> None:
    """A stored one is evaluated all the same."""
    expensive = '["a", "b"].join("-") == "a-b"'
    with pytest.raises(TooExpensive, match="1000000 are allowed"):
        selector(expensive)
    assert compiled(expensive).matches(Device.of("d", {}))


def test_an_evaluation_ends_at_the_limit() -> None:
    """An expression of which the worst case is above it is counted while it runs."""
    ten = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    deep = "true"
    for name in "abcdef":
        deep = f"{ten}.all({name}, {deep})"
    with pytest.raises(EvaluationError, match="cost limit"):
        compiled(deep).matches(Device.of("d", {}))


def test_nothing_gets_over_the_limit() -> None:
    """Not even a side of || that would decide."""
    ten = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    deep = "true"
    for name in "abcdef":
        deep = f"{ten}.all({name}, {deep})"
    with pytest.raises(EvaluationError, match="cost limit"):
        compiled(f"{deep} || true").matches(Device.of("d", {}))
