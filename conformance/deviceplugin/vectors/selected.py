"""Vectors of the choice of devices, played: pods, what plugins prefer, and the calls they get."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from conformance.deviceplugin.vectors.performing import answering, begun, expect_calls, set_up
from conformance.deviceplugin.vectors.rows import (
    RequestRow,
    SelectionRow,
    StagedResource,
    StartRow,
    stages,
)
from conformance.deviceplugin.vectors.staged import OWN, distances
from conformance.deviceplugin.vectors.traces import trace_of
from conformance.engine.options import BadOption
from conformance.engine.verdict import expect
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.node.choices import KubeletChoices
from refimpl.node.pods import ContainerSpec, PodSpec
from refimpl.wire.status import Code, Refused

__all__ = ["choices_of", "judge_request", "judge_selection", "judge_start"]

_TOLD_S = 5.0
_PEAK_NODES = (0, 1, 2, 3)
"""Of these node n has n + 2 devices, so that the first that does tells how many were wanted."""


def choices_of(vector: SelectionRow | RequestRow) -> KubeletChoices:
    """What the client has to be configured with."""
    if isinstance(vector, RequestRow):
        return KubeletChoices(policy="restricted", scope="pod", nodes=distances(_PEAK_NODES))
    if vector.cpu:
        return KubeletChoices(policy="best-effort", nodes=distances(vector.nodes))
    return KubeletChoices()


def judge_selection(node: NodeUnderTest, vector: SelectionRow) -> None:
    """Raises Broken where a plugin gets other calls, or the pod another fate."""
    node.configured(choices_of(vector))
    if vector.recorded:
        _judge_changed(node, vector)
    else:
        _judge_new(node, vector)


def _judge_new(node: NodeUnderTest, vector: SelectionRow) -> None:
    own = StagedResource(devices=vector.devices, in_use=vector.held, unhealthy=vector.unhealthy)
    beside = [("beside", each) for each in stages() if vector.cpu and each.hints == vector.cpu]
    plugins = set_up(node, {OWN: own, **dict(beside)})
    plugin, before = plugins[OWN], len(trace_of(plugins[OWN]))
    plugin.preferred = _one_by_one(iter(vector.answers))
    pod = _pod(node, vector.containers, plugin, {each.resource: 1 for each in plugins.values()})
    if vector.refused:
        node.pods.refused(pod, vector.refused)
    else:
        begun(node, pod)
    expect_calls(trace_of(plugin)[before:], vector.trace, "the calls for the pod")
    if vector.in_use == "":
        plugin.preferred = answering("")
        node.pods.running(limits={plugin.resource: len(own.free)})


def _judge_changed(node: NodeUnderTest, vector: SelectionRow) -> None:
    """While the client is away, a pod that runs comes to ask for more than it was given."""
    plugin = node.joined(*vector.recorded.split())
    pod = node.pods.running(limits={plugin.resource: len(vector.recorded.split())})
    before = len(trace_of(plugin))
    node.client.end(kill=True)
    _, _, count = vector.containers.rpartition(":")
    node.client.run(attrs.evolve(pod, app=(ContainerSpec(limits={plugin.resource: int(count)}),)))
    node.start()
    begun(node, node.pods.run())  # by then the client has judged the pods that were there before
    node.until(lambda: node.pods.state(pod).phase == "Failed", "the pod is refused", _TOLD_S)
    node.pods.refused(pod, vector.refused)
    expect_calls(trace_of(plugin)[before:], vector.trace, "the calls for a pod that changed")


def judge_request(node: NodeUnderTest, vector: RequestRow) -> None:
    """Raises Broken if the pod is placed as if it needed more devices at once, or fewer."""
    node.configured(choices_of(vector))
    plugin = node.plugin()
    node.join(
        plugin,
        *(
            pb.Device(
                ID=f"node{place}-{number}",
                health="Healthy",
                topology=pb.TopologyInfo(nodes=[pb.NUMANode(ID=place)]),
            )
            for place in _PEAK_NODES
            for number in range(place + 2)
        ),
    )
    begun(node, _pod(node, vector.containers, plugin, {}))
    given = {id for ids in plugin.allocated() for id in ids}
    wanted = f"node{vector.peak - 2}-"
    expect(
        given and all(id.startswith(wanted) for id in given),
        f"a pod that needs {vector.peak} devices at once is placed where there are as many",
        wanted=f"devices {wanted}*",
        got=" ".join(sorted(given)),
    )


def judge_start(node: NodeUnderTest, vector: StartRow) -> None:
    """Raises Broken if the client starts where it has to refuse, or refuses where it has to start;
    what its release does not have yet is left out."""
    if not node.since(vector.since):
        return
    for policy, accepted in vector.accepted.items():
        nodes = distances(vector.nodes)
        choices = KubeletChoices(policy=policy, options=vector.options, nodes=nodes)
        try:
            node.configured(choices)
        except BadOption as refusal:
            outcome, starts = str(refusal), False
        else:
            outcome, starts = "it starts", True
        expect(
            starts == accepted,
            f"{len(vector.nodes)} NUMA nodes under policy {policy} {vector.options or ''}",
            wanted="it starts" if accepted else "it refuses to start",
            got=outcome,
        )


def _pod(
    node: NodeUnderTest, containers: str, plugin: ScriptedPlugin, last: dict[str, int]
) -> PodSpec:
    """A pod of words name:kind:count; the last of its containers asks for `last`, too."""
    specs: dict[str, list[ContainerSpec]] = {"app": [], "init": []}
    for name, kind, count in (word.split(":") for word in containers.split()):
        limits = (last if kind == "app" else {}) | {plugin.resource: int(count)}
        spec = ContainerSpec(name, limits=limits, restartable=kind == "sidecar")
        specs["app" if kind == "app" else "init"].append(spec)
    return node.pods.run(app=tuple(specs["app"]), init=tuple(specs["init"]))


def _one_by_one(
    answers: Iterator[str],
) -> Callable[[pb.PreferredAllocationRequest], pb.PreferredAllocationResponse]:
    def preferred(request: pb.PreferredAllocationRequest) -> pb.PreferredAllocationResponse:
        words = next(answers, "")
        if words == "error":
            raise Refused(Code.INTERNAL, "no preference to be had")
        return answering(words)(request)

    return preferred
