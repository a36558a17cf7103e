"""What a kubelet has told, in the words of the suites: pods, node, metrics, its last error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict

from refimpl.cri.api.cri_pb2 import ContainerConfig
from refimpl.deviceplugin.kubelet import Capacity
from refimpl.node.pods import ContainerStatus, PodStatus

__all__ = ["capacity_of", "container_config", "last_error", "metrics_of", "pod_state"]

_STATES = ("running", "terminated", "waiting")
_SAMPLE = re.compile(r"(?P<name>[A-Za-z_:][^\s{]*(?:\{.*\})?) (?P<value>\S+)")
# The prefix tells devices of device plugins from those of claims.
_PREFIX = "extended-resource:"
_ERROR = re.compile(r'^[EF].*?err="((?:[^"\\]|\\.)*)"', re.M)


def pod_state(pod: Mapping[str, Any]) -> PodStatus:
    """From a v1.Pod."""
    status = pod.get("status") or {}
    statuses = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    return PodStatus(
        status.get("phase", ""),
        status.get("reason", ""),
        status.get("message", ""),
        {each["name"]: _container(each) for each in statuses},
    )


def _container(status: Mapping[str, Any]) -> ContainerStatus:
    states = status.get("state") or {}
    state = next((name for name in _STATES if name in states), "waiting")
    about = states.get(state) or {}
    return ContainerStatus(
        status["name"],
        state,  # type: ignore[arg-type]
        about.get("reason", ""),
        about.get("message", ""),
        status.get("restartCount", 0),
        _health(status.get("allocatedResourcesStatus") or ()),
    )


def _health(resources: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    return {
        each["name"].removeprefix(_PREFIX): {
            one["resourceID"]: one.get("health", "") for one in each.get("resources") or ()
        }
        for each in resources
    }


def container_config(sent: ContainerConfig) -> dict[str, Any]:
    """With the field names of the protocol; values of variables, which are bytes in it, as text."""
    config = MessageToDict(sent, preserving_proto_field_name=True)
    envs = [{"key": each.key, "value": each.value.decode(errors="replace")} for each in sent.envs]
    return config | {"envs": envs}


def capacity_of(node: Mapping[str, Any]) -> Capacity:
    """From a v1.Node: the resources with a domain, which plugins bring."""
    status = node.get("status") or {}
    return Capacity(_extended(status.get("capacity")), _extended(status.get("allocatable")))


def _extended(amounts: Mapping[str, Any] | None) -> dict[str, int]:
    return {name: _number(value) for name, value in (amounts or {}).items() if "/" in name}


def _number(value: Any) -> int:
    text = str(value)  # a quantity: thousands have a suffix
    return int(text[:-1]) * 1000 if text.endswith("k") else int(text)


def metrics_of(text: str) -> dict[str, float]:
    """From Prometheus' text format: name with labels -> value."""
    samples = (_SAMPLE.fullmatch(line) for line in text.splitlines() if line[:1] != "#")
    return {sample["name"]: float(sample["value"]) for sample in samples if sample}


def last_error(log: str) -> str:
    """The last one that was logged; empty if there was none."""
    return next(reversed(_ERROR.findall(log)), "")
