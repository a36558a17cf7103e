"""Status: conditions, handlers, features, and details on demand."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial

from conformance.cri.needs import HANDLER, OURS, served
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, should
from refimpl.cri.api import cri_pb2 as pb

_READY = ("RuntimeReady", "NetworkReady")
_CAMEL = re.compile(r"[A-Z][A-Za-z0-9]*$")


@case("CRI-RT-005", "CRI v1 RuntimeCondition: both are required")
def test_both_conditions_are_there_once(cri: CriTarget) -> None:
    """Kubelet takes a node for not ready where one is missing."""
    status = cri.kubelet.status().status
    kinds = Counter(each.type for each in status.conditions)
    for kind in _READY:
        expect(kinds[kind] == 1, f"{kind} is there once", wanted=1, got=dict(kinds))


@case("CRI-RT-006", "CRI v1 RuntimeCondition")
def test_both_conditions_hold_on_a_healthy_node(cri: CriTarget) -> None:
    """Whoever runs this suite has a node that works."""
    for each in cri.kubelet.status().status.conditions:
        if each.type in _READY:
            expect(each.status, f"{each.type} holds", wanted=True, got=each)


@case("CRI-RT-007", "CRI v1 RuntimeCondition: reason in one CamelCase word", needs=[OURS])
def test_a_condition_that_does_not_hold_says_why(cri: CriTarget) -> None:
    """Kubelet shows it as the reason why the node is not ready."""
    assert cri.fake is not None
    cri.fake.set_ready("NetworkReady", "NetworkPluginNotReady", "no network is configured")
    cri.scope.callback(partial(cri.fake.set_ready, "NetworkReady"))
    (shown,) = [
        each for each in cri.kubelet.status().status.conditions if each.type == "NetworkReady"
    ]
    expect(not shown.status, "it does not hold", wanted=False, got=shown)
    expect(_CAMEL.match(shown.reason), "its reason is one word", wanted="CamelCase", got=shown)
    expect(shown.message, "it has a message for people", wanted="a text", got=shown)


@case("CRI-RT-008", "CRI v1 StatusResponse.info: only if verbose")
def test_details_come_on_demand_only(cri: CriTarget) -> None:
    """Kubelet asks every five seconds; the whole configuration would travel each time."""
    info = cri.kubelet.status().info
    expect(not info, "info is empty without verbose", wanted={}, got=dict(info))


@case("CRI-RT-009", "CRI v1 StatusResponse.info: values are JSON")
def test_details_are_json(cri: CriTarget) -> None:
    """`crictl info` prints them as one document."""
    for name, value in cri.kubelet.status(verbose=True).info.items():
        try:
            json.loads(value)
        except ValueError:
            should(False, f"info[{name!r}] is JSON", wanted="JSON", got=value)


@case("CRI-RT-010", "CRI v1 StatusResponse.runtime_handlers: names are unique")
def test_names_of_handlers_are_unique(cri: CriTarget) -> None:
    """Kubelet keeps features by name, and takes the last."""
    names = Counter(each.name for each in cri.kubelet.status().runtime_handlers)
    twice = [name for name, count in names.items() if count > 1]
    expect(not twice, "each handler is listed once", wanted="no name twice", got=twice)


@case("CRI-RT-011", "CRI v1 RuntimeHandler: the empty name is the default one", needs=[HANDLER])
def test_the_default_handler_is_listed_with_its_features(cri: CriTarget) -> None:
    """Pods without a RuntimeClass use it, and kubelet looks up its features under that name."""
    handlers = {each.name: each.features for each in cri.kubelet.status().runtime_handlers}
    expect("" in handlers, "the default handler is listed", wanted="", got=sorted(handlers))
    others = [features for name, features in handlers.items() if name]
    expect(
        handlers[""] in others,
        "its features are those of a handler with a name",
        wanted=others,
        got=handlers[""],
    )


@case(
    "CRI-RT-013",
    "kubelet reads the cgroup driver at its start (KEP 4033)",
    needs=[served("RuntimeConfig")],
)
def test_the_cgroup_driver_is_told_and_stays(cri: CriTarget) -> None:
    """Kubelet and runtime with different drivers fight over cgroups."""
    replies = [cri.runtime.RuntimeConfig(pb.RuntimeConfigRequest()) for _ in range(3)]
    first = replies[0]
    expect(first.HasField("linux"), "linux is told", wanted="a driver", got=first)
    driver = first.linux.cgroup_driver
    expect(driver in pb.CgroupDriver.values(), "it is a CgroupDriver", wanted="0 or 1", got=driver)
    expect(replies == [first] * 3, "it is always the same", wanted=first, got=replies)
