"""PreStartContainer: what happens to a device right before a container gets it."""

from __future__ import annotations

from functools import partial

from conformance.deviceplugin.plugins.needs import NO_PRE_START, ONE_DEVICE, PRE_STARTS
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.deviceplugin.plugins.refusals import answered, survives
from conformance.engine.case import case
from conformance.engine.verdict import together
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.profiles import PRE_START_S

PRE_START = "device plugin v1beta1, PreStartContainer"


@case("DP-PLG-060", PRE_START, needs=[PRE_STARTS, ONE_DEVICE])
def test_a_container_can_be_started_and_restarted(plugin: DevicePluginUnderTest) -> None:
    """Kubelet waits 30 s and does not start the container otherwise; a container that crashes is
    started again with the same devices and no new Allocate."""
    ids = plugin.ids()[:2]
    plugin.calls.allocate(ids)
    for _ in range(3):
        plugin.calls.stub.PreStartContainer(_request(ids), timeout=PRE_START_S)


@case("DP-PLG-061", PRE_START, needs=[PRE_STARTS, ONE_DEVICE])
def test_devices_that_were_never_allocated_do_no_harm(plugin: DevicePluginUnderTest) -> None:
    """After a restart of the plugin kubelet starts containers of before, whose Allocate the new
    process has not seen. To refuse them is fine, to die is not."""
    plugin.fresh()
    with together() as check:
        for what, ids in (
            ("a device that was not allocated", plugin.ids()[:1]),
            ("a device that was never listed", ["refimpl-never-listed"]),
            ("no devices", []),
        ):
            with check:
                _asked(plugin, f"PreStartContainer of {what}", ids)
            survives(plugin, f"PreStartContainer of {what}")


@case("DP-PLG-062", PRE_START, needs=[NO_PRE_START, ONE_DEVICE])
def test_a_call_that_is_not_offered_does_no_harm(plugin: DevicePluginUnderTest) -> None:
    """Options change with the release of a plugin, and a kubelet may ask by the older ones."""
    _asked(plugin, "PreStartContainer", plugin.ids()[:1])
    survives(plugin, "PreStartContainer")


def _asked(plugin: DevicePluginUnderTest, what: str, ids: list[str]) -> None:
    ask = partial(plugin.calls.stub.PreStartContainer, _request(ids), timeout=PRE_START_S)
    answered(ask, f"{what} is answered")


def _request(ids: list[str]) -> pb.PreStartContainerRequest:
    return pb.PreStartContainerRequest(devices_ids=ids)
