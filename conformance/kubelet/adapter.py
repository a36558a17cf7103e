"""Our fake kubelet behind lines of JSON (`lines`): the model of an adapter.

refimpl test client deviceplugin -- python -m conformance.kubelet.adapter
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
import msgspec

from conformance.engine.options import BadOption
from conformance.engine.targets.lines import Message
from conformance.kubelet.ours import OurKubelet
from refimpl.node.choices import KubeletChoices
from refimpl.node.pods import Amounts, ContainerSpec, PodSpec, PodStatus
from refimpl.wire.client import Unreachable

__all__ = ["pod_spec", "serve", "v1_pod"]

_PLAIN = frozenset({"delete", "forget", "exit", "reboot", "advance", "deafen", "end"})


class Adapter:
    """Answers acts by our kubelet of that profile."""

    def __init__(self, profile: str = "ideal") -> None:
        self.ours = OurKubelet(profile, lacks=("claims",))

    def answer(self, method: str, request: Message) -> Message:
        """The reply to a call of a method of Client."""
        if method in _PLAIN:
            getattr(self.ours, method)(**request)
            return {}
        reply: Message = getattr(self, f"_{method}")(**request)
        return reply

    def _hello(self) -> Message:
        ours = self.ours
        identity: Message = {"name": ours.name, "version": ours.version, "profile": ours.profile}
        identity["quiet_s"] = ours.quiet_s
        return {**identity, "able": sorted(ours.able)}

    def _start(self, folder: str, choices: Message) -> Message:
        self.ours.folder = Path(folder)
        try:
            self.ours.start(msgspec.convert(choices, KubeletChoices, strict=False))
        except BadOption as error:
            return {"refused": str(error)}
        except (Unreachable, OSError) as error:
            return {"error": str(error)}
        return {}

    def _fate(self) -> Message:
        return {"fate": self.ours.fate()}

    def _run(self, pod: Message) -> Message:
        self.ours.run(pod_spec(pod))
        return {}

    def _state(self, uid: str) -> Message:
        state = self.ours.state(uid)
        return {"pod": v1_pod(state) if state else None}

    def _configs(self, uid: str, container: str) -> Message:
        return {"configs": self.ours.configs(uid, container)}

    def _node(self) -> Message:
        return attrs.asdict(self.ours.node())

    def _healthy(self) -> Message:
        return {"healthy": self.ours.healthy()}

    def _metrics(self) -> Message:
        return {"metrics": dict(self.ours.metrics())}

    def _topology(self, question: str, values: Mapping[str, Any]) -> Message:
        return {"answer": self.ours.topology(question, values)}


def pod_spec(pod: Mapping[str, Any]) -> PodSpec:
    """From a v1.Pod of a case."""
    meta, spec = pod["metadata"], pod["spec"]
    amounts = spec.get("resources", {}).get("limits")
    return PodSpec(
        name=meta["name"],
        uid=meta["uid"],
        app=_containers(spec["containers"]),
        init=_containers(spec.get("initContainers", ())),
        restart=spec["restartPolicy"],
        pod_level=amounts is not None,
        amounts=_amounts(amounts or {}),
        namespace=meta["namespace"],
    )


def _containers(given: Iterable[Mapping[str, Any]]) -> tuple[ContainerSpec, ...]:
    return tuple(map(_container, given))


def _container(given: Mapping[str, Any]) -> ContainerSpec:
    limits = given.get("resources", {}).get("limits", {})
    return ContainerSpec(
        name=given["name"],
        limits={name: int(count) for name, count in limits.items() if "/" in name},
        env={each["name"]: each["value"] for each in given.get("env", ())},
        restartable=given.get("restartPolicy") == "Always",
        amounts=_amounts(limits),
    )


def _amounts(limits: Mapping[str, str]) -> Amounts:
    memory = limits.get("memory", "0Mi").removesuffix("Mi")
    return Amounts(int(limits.get("cpu", "0")), int(memory))


def v1_pod(state: PodStatus) -> Message:
    """As a v1.Pod with nothing but its status."""
    statuses = [
        {
            "name": each.name,
            "restartCount": each.restarts,
            "state": {each.state: {"reason": each.reason, "message": each.message}},
            "allocatedResourcesStatus": [
                {
                    "name": resource,
                    "resources": [{"resourceID": id, "health": word} for id, word in ids.items()],
                }
                for resource, ids in each.health.items()
            ],
        }
        for each in state.containers.values()
    ]
    status = {"phase": state.phase, "reason": state.reason, "message": state.message}
    return {"status": {**status, "containerStatuses": statuses}}


def serve(profile: str = "ideal") -> None:
    """Answers {"act": …} line by line until stdin ends."""
    adapter = Adapter(profile)
    try:
        for line in sys.stdin:
            request = json.loads(line)
            print(json.dumps(adapter.answer(request.pop("act"), request)), flush=True)
    finally:
        adapter.ours.close()


if __name__ == "__main__":
    serve(*sys.argv[1:])
