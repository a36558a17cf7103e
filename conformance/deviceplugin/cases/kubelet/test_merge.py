"""How what plugins answer to Allocate gets into the container (DP-KUB): its CRI ContainerConfig."""

from __future__ import annotations

from typing import Any

from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect
from conformance.kubelet.needs import since
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.node.pods import ContainerSpec

_CONFIGS = [Feature("pods"), Feature("configs")]
_SOURCE = "kubelet: what plugins add to a container"
_KEPT_BY_KUBELET = "io.kubernetes.container.restartCount"


@case("DP-KUB-047", _SOURCE, needs=_CONFIGS)
def test_a_variable_that_two_plugins_set_is_there_once(node: NodeUnderTest) -> None:
    """Which of two values a process sees would depend on its runtime and its language. Resources
    have no order, so that either plugin may be the first."""
    first = _answering(node, envs={"SAME": "value", "BOTH": "first"})
    second = _answering(node, envs={"SAME": "value", "BOTH": "second"})
    config = _config(node, {first.resource: 1, second.resource: 1})
    same, both = _values(config, "SAME"), _values(config, "BOTH")
    expect(
        same == ["value"] and both in (["first"], ["second"]),
        "of two plugins that set a variable the first one wins",
        wanted="SAME once, BOTH once",
        got=f"SAME={same}, BOTH={both}",
    )


@case("DP-KUB-048", _SOURCE, needs=_CONFIGS)
def test_a_path_that_two_plugins_fill_is_filled_once(node: NodeUnderTest) -> None:
    """Runtimes refuse two devices at one path, or mount one over the other."""
    device, mount = "/dev/of-both", "/mnt/of-both"
    plugins = [
        _answering(
            node,
            devices=[pb.DeviceSpec(container_path=device, host_path=path, permissions="rw")],
            mounts=[pb.Mount(container_path=mount, host_path=folder, read_only=True)],
        )
        for path, folder in (("/dev/null", "/etc"), ("/dev/zero", "/usr"))
    ]
    config = _config(node, {plugin.resource: 1 for plugin in plugins})
    got = {kind: _at(config, kind, path) for kind, path in (("devices", device), ("mounts", mount))}
    expect(
        got["devices"] in (["/dev/null"], ["/dev/zero"]) and got["mounts"] in (["/etc"], ["/usr"]),
        "of two plugins that want something at one path the first one wins",
        wanted=f"{device} once, {mount} once",
        got=f"host paths: {got}",
    )


@case("DP-KUB-049", _SOURCE, needs=_CONFIGS)
def test_variables_of_a_plugin_stand_before_those_of_the_pod(node: NodeUnderTest) -> None:
    """With runtimes the last one wins: whoever writes a pod can override what a plugin suggests."""
    plugin = _answering(node, envs={"SHARED": "plugin"})
    config = _config(node, {plugin.resource: 1}, env={"SHARED": "pod"})
    got = _values(config, "SHARED")
    expect(
        got == ["plugin", "pod"],
        "the plugin's value comes first, the pod's later",
        wanted="plugin, pod",
        got=got or "no such variable",
    )


@case("DP-KUB-050", _SOURCE, needs=[*_CONFIGS, since("1.29")])
def test_cdi_devices_reach_the_runtime_each_once(node: NodeUnderTest) -> None:
    """The runtime looks them up by these names; all edits of a name that comes twice would be made
    twice."""
    shared, own = "example.com/card=shared", "example.com/card=own"
    first = _answering(node, cdi_devices=[pb.CDIDevice(name=shared), pb.CDIDevice(name=shared)])
    second = _answering(node, cdi_devices=[pb.CDIDevice(name=shared), pb.CDIDevice(name=own)])
    config = _config(node, {first.resource: 1, second.resource: 1})
    got = [each["name"] for each in config.get("CDI_devices", ())]
    expect(
        sorted(got) == [own, shared],
        "every CDI name that a plugin answered is in the container's configuration, once",
        wanted=[own, shared],
        got=got,
    )


@case("DP-KUB-051", _SOURCE, needs=_CONFIGS)
def test_annotations_of_a_plugin_do_not_replace_those_of_kubelet(node: NodeUnderTest) -> None:
    """Kubelet finds its containers again by its annotations; after a restart it would believe what
    a plugin had written there."""
    plugin = _answering(node, annotations={_KEPT_BY_KUBELET: "99", "example.com/own": "plugin"})
    got = _config(node, {plugin.resource: 1}).get("annotations", {})
    expect(
        got.get(_KEPT_BY_KUBELET) == "0" and got.get("example.com/own") == "plugin",
        "kubelet's own keys keep its values, other ones are the plugin's",
        wanted=f"{_KEPT_BY_KUBELET}=0, example.com/own=plugin",
        got=got,
    )


def _answering(node: NodeUnderTest, **fields: Any) -> ScriptedPlugin:
    """A plugin with a device whose container gets these fields."""
    plugin = node.joined("a")
    answer = pb.ContainerAllocateResponse(**fields)
    plugin.answers = lambda _: pb.AllocateResponse(container_responses=[answer])
    return plugin


def _config(node: NodeUnderTest, limits: dict[str, int], env: dict[str, str] | None = None) -> Any:
    """What a container of these limits was started with."""
    pod = node.pods.running(node.pods.run(app=(ContainerSpec(limits=limits, env=env or {}),)))
    return node.client.configs(pod.uid, "main")[0]


def _values(config: Any, key: str) -> list[str]:
    return [each.get("value", "") for each in config.get("envs", ()) if each["key"] == key]


def _at(config: Any, kind: str, path: str) -> list[str]:
    entries = config.get(kind, ())
    return [each["host_path"] for each in entries if each["container_path"] == path]
