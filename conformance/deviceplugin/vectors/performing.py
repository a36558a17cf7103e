"""Plays on a client under test: plugins set up, a pod admitted or refused, calls looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from conformance.deviceplugin.vectors.rows import StagedResource, Step
from conformance.deviceplugin.vectors.staged import Play
from conformance.deviceplugin.vectors.traces import TracedCall, follows, in_words, trace_of
from conformance.engine.verdict import expect
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.node.pods import ContainerSpec, PodSpec

__all__ = ["answering", "begun", "expect_calls", "perform", "set_up"]

TOPOLOGY = "TopologyAffinityError"

Preference = Callable[[pb.PreferredAllocationRequest], pb.PreferredAllocationResponse]


def perform(node: NodeUnderTest, plays: Iterable[Play]) -> None:
    """All plays of a row, those first that the client is configured for; raises Broken."""
    for play in sorted(plays, key=lambda it: (it.choices != node.choices, str(it.choices))):
        node.configured(play.choices)
        _perform(node, play)


def _perform(node: NodeUnderTest, play: Play) -> None:
    plugins = set_up(node, play.stages)
    for name, words in play.preferred.items():
        plugins[name].preferred = answering(words)
    before = {name: len(trace_of(plugin)) for name, plugin in plugins.items()}
    limits = {plugins[name].resource: stage.request for name, stage in play.stages.items()}
    init = {plugins[name].resource: count for name, count in play.init.items()}
    pod = node.pods.run(
        app=(ContainerSpec(limits=_wanted(limits)),),
        init=(ContainerSpec("init", limits=init),) if init else (),
    )
    if play.steps is None:
        node.pods.refused(pod, TOPOLOGY)
    else:
        begun(node, pod, f"policy {play.choices.policy} admits the pod")
    for name, plugin in plugins.items():
        steps = play.steps[name] if play.steps else ()
        rule = f"the calls for {name} under policy {play.choices.policy}"
        expect_calls(trace_of(plugin)[before[name] :], steps, rule)


def set_up(node: NodeUnderTest, stages: Mapping[str, StagedResource]) -> dict[str, ScriptedPlugin]:
    """A plugin for each, which says that it can be asked what it prefers, and has no opinion.
    Another pod holds what is in use."""
    plugins = {name: node.plugin() for name in stages}
    for name, plugin in plugins.items():
        plugin.options.get_preferred_allocation_available = True
        node.join(plugin, *_devices(stages[name], held_only=bool(stages[name].in_use)))
    held = [plugins[name].resource for name, stage in stages.items() for _ in stage.in_use.split()]
    if held:
        holders = (ContainerSpec(f"c{i}", limits={each: 1}) for i, each in enumerate(held))
        begun(node, node.pods.run(app=tuple(holders)))
    for name, stage in stages.items():
        if stage.in_use:
            plugins[name].send(*_devices(stage))
            node.arrived(plugins[name], *_devices(stage))
    return plugins


def begun(node: NodeUnderTest, pod: PodSpec, rule: str = "the pod is admitted") -> None:
    """Waits until a container of the pod runs, by when all its devices are allocated; raises Broken
    if it is refused."""

    def got_somewhere() -> bool:
        state = node.pods.state(pod)
        runs = any(each.state != "waiting" for each in state.containers.values())
        return runs or state.phase == "Failed"

    node.until(got_somewhere, rule)
    state = node.pods.state(pod)
    expect(
        state.phase != "Failed",
        rule,
        wanted="a container that runs",
        got=f"phase Failed, reason {state.reason} {state.message}",
    )


def expect_calls(trace: Sequence[TracedCall], steps: Sequence[Step], rule: str) -> None:
    """Raises Broken unless these calls were made."""
    expect(follows(trace, steps), rule, wanted=in_words(steps), got=in_words(trace))


def answering(words: str) -> Preference:
    """A plugin that prefers these ids; `nothing`: it answers for no container."""

    def preferred(_: pb.PreferredAllocationRequest) -> pb.PreferredAllocationResponse:
        reply = pb.PreferredAllocationResponse()
        if words != "nothing":
            reply.container_responses.add(deviceIDs=words.split())
        return reply

    return preferred


def _wanted(limits: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in limits.items() if count}


def _devices(stage: StagedResource, *, held_only: bool = False) -> list[pb.Device]:
    return [
        pb.Device(
            ID=name,
            health="Unhealthy" if name in stage.unhealthy.split() else "Healthy",
            topology=pb.TopologyInfo(nodes=[pb.NUMANode(ID=n) for n in nodes]) if nodes else None,
        )
        for name, nodes in stage.devices.items()
        if not held_only or name in stage.in_use.split()
    ]
