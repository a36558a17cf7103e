"""Allocate beside other calls, open streams, changes of health, and callers that leave."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import attrs

from conformance.deviceplugin.plugins.answers import Parts, kept, lacking, own, parts
from conformance.deviceplugin.plugins.needs import (
    BREAKABLE,
    MENDABLE,
    ONE_DEVICE,
    TWO_DEVICES,
    UNPLUGGABLE,
)
from conformance.deviceplugin.plugins.plugin import REGISTER_S, DevicePluginUnderTest
from conformance.deviceplugin.plugins.refusals import survives
from conformance.deviceplugin.plugins.watch import Watch, listed
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.plugin.inventory import HEALTHY
from refimpl.wire.status import Refused

ALLOCATE = "device plugin v1beta1, Allocate"
CALLERS, ROUNDS, FLIPS, HURRIED = 16, 4, 50, 20
AT_ONCE_S = 0.05
"""Two connections tell things in an order that is not the plugin's: what came so close together is
left open."""


@case("DP-PLG-047", ALLOCATE, needs=[TWO_DEVICES])
def test_parallel_calls_do_not_get_each_others_devices(plugin: DevicePluginUnderTest) -> None:
    """Kubelet admits one pod after the other, but starts containers side by side, and another
    client may not wait either. Sixteen callers, or as many as there are devices, each with an id of
    its own and four times."""
    ids = plugin.ids()[:CALLERS]
    alone = {id: kept(plugin, id) for id in ids}
    with ThreadPoolExecutor(len(ids)) as callers:
        answers = list(callers.map(lambda id: _crossed(plugin, id, alone), ids))
    faults = [fault for each in answers for fault in each]
    expect(
        not faults,
        f"{len(ids)} parallel calls of Allocate are answered as each is answered alone",
        wanted="each the device that it asked for",
        got=faults,
    )


def _crossed(plugin: DevicePluginUnderTest, id: str, alone: dict[str, Parts]) -> list[str]:
    """What is wrong with the answers to one of the callers."""
    wrong = []
    for _ in range(ROUNDS):
        for answer in plugin.calls.allocate([id]).container_responses:
            given = parts(answer)
            others = [each for each in alone if each != id and own(each, alone) & given]
            wrong += [f"{id!r} got what {other!r} has" for other in others]
            wrong += filter(None, [lacking(answer, id, alone)])
    return wrong


@case("DP-PLG-048", ALLOCATE, needs=[ONE_DEVICE])
def test_open_streams_do_not_keep_allocate_waiting(plugin: DevicePluginUnderTest) -> None:
    """A stream of ListAndWatch stays open for good, one of a kubelet that has died perhaps as well:
    where each of them takes one of four threads, the plugin is soon silent."""
    for _ in range(4):
        plugin.calls.watch()
    answer = plugin.calls.allocate(plugin.ids()[:1])
    got = len(answer.container_responses)
    expect(got == 1, "Allocate is answered while five streams are open", wanted=1, got=got)


@case("DP-PLG-049", ALLOCATE, needs=[TWO_DEVICES, BREAKABLE, MENDABLE])
def test_a_storm_of_health_changes_disturbs_nobody(plugin: DevicePluginUnderTest) -> None:
    """A loose cable makes one device come and go a hundred times a second: the others are to be
    had all the same, and in the end all streams say the same."""
    ids = plugin.ids()
    quiet, stormy = ids[0], ids[-1]
    watches = [plugin.calls.watch() for _ in range(2)]
    with ThreadPoolExecutor(1) as weather:
        storm = weather.submit(_storm, plugin, stormy)
        while not storm.done():
            plugin.calls.allocate([quiet])
        storm.result()
    # Once more, slowly: then everybody has read all that the storm has left.
    with plugin.hooks.broken(stormy):
        _until_all_list(plugin, watches, stormy, healthy=False)
    _until_all_list(plugin, watches, stormy, healthy=True)
    with together() as check:
        with check:
            expect(plugin.ids() == ids, "kubelet has them all again", wanted=ids, got=plugin.ids())
        wrong = sorted(
            {
                f"{id!r}: {lists.get(id, 'missing')}"
                for watch in watches
                for lists in map(listed, watch.lists)
                for id in ids
                if id != stormy and lists.get(id) != HEALTHY
            }
        )
        with check:
            expect(
                not wrong, "no list leaves the other devices out", wanted="all of them", got=wrong
            )


def _storm(plugin: DevicePluginUnderTest, id: str) -> None:
    for _ in range(FLIPS):
        plugin.hooks.run("break_device", id)
        plugin.hooks.run("mend_device", id)


def _until_all_list(
    plugin: DevicePluginUnderTest, watches: list[Watch], id: str, *, healthy: bool
) -> None:
    def so() -> bool:
        states = [*(watch.newest.get(id) == HEALTHY for watch in watches), id in plugin.ids()]
        return set(states) == {healthy}

    plugin.until(so, f"every stream says that {id!r} is {'' if healthy else 'not '}healthy")


@case("DP-PLG-050", ALLOCATE, needs=[ONE_DEVICE])
def test_a_caller_that_leaves_does_no_harm(plugin: DevicePluginUnderTest) -> None:
    """Kubelet is restarted in the middle of a call. What the call had locked must be free again.
    Twenty calls that are given up after 1 ms, as it is chance how far one gets."""
    ids = plugin.ids()
    for _ in range(HURRIED):
        with contextlib.suppress(Refused):
            plugin.calls.stub.Allocate(_request(ids), timeout=0.001)
    survives(plugin, "calls of Allocate that were given up")
    got = len(plugin.calls.allocate(ids[:1]).container_responses)
    expect(got == 1, "Allocate is answered after others were given up", wanted=1, got=got)


def _request(ids: list[str]) -> pb.AllocateRequest:
    request = pb.AllocateRequest()
    request.container_requests.add(devices_ids=ids)
    return request


@attrs.define
class Asker:
    """Asks over and over, until it is refused or `enough`; `granted` has beginning and end of each
    call that was answered."""

    ask: Callable[[], object]
    granted: list[tuple[float, float]] = attrs.field(factory=list)
    enough: Event = attrs.field(factory=Event)

    def run(self) -> None:
        """In a thread of its own."""
        with contextlib.suppress(Refused):
            while not self.enough.is_set():
                began = time.monotonic()
                self.ask()
                self.granted.append((began, time.monotonic()))


@case("DP-PLG-084", "Kubernetes 1.37 kubelet, Allocate", needs=[ONE_DEVICE, UNPLUGGABLE])
def test_a_device_stays_listed_until_its_allocate_is_answered(
    plugin: DevicePluginUnderTest,
) -> None:
    """Kubelet 1.37 looks the device up when the answer comes, and dies where a list without it came
    first: the whole node is without kubelet for a moment. To say Unhealthy is safe, and so is to
    fail the call."""
    id = plugin.ids()[-1]
    asker = Asker(lambda: plugin.calls.allocate([id]))
    with ThreadPoolExecutor(1) as threads, _pulled_out(plugin, id) as pull_out:
        asking = threads.submit(asker.run)
        try:
            plugin.until(lambda: asker.granted or asking.done(), "Allocate is answered")
            pull_out()
            dropped = _dropped(plugin, id)
        finally:
            asker.enough.set()
        asking.result()
    late = [
        f"{ended - dropped:.2f} s"
        for began, ended in asker.granted
        if began < dropped < ended - AT_ONCE_S
    ]
    expect(
        not late,
        f"no list without {id!r} comes while an Allocate of it is being answered",
        wanted="Unhealthy until then, or a refusal",
        got=f"the answer came {', '.join(late)} after the list",
    )


@contextlib.contextmanager
def _pulled_out(plugin: DevicePluginUnderTest, id: str) -> Iterator[Callable[[], None]]:
    """Gives what pulls the device out; in the end it is plugged in again where that can be."""
    pulled: list[str] = []

    def pull_out() -> None:
        pulled.append(id)
        plugin.hooks.run("remove_device", id)

    plugin.spoil()
    try:
        yield pull_out
    finally:
        for each in pulled if plugin.hooks.has("add_device") else ():
            plugin.hooks.run("add_device", each)


def _dropped(plugin: DevicePluginUnderTest, id: str) -> float:
    """When kubelet had a list without the device; never, where it is said to be unhealthy."""
    plugin.session.kubelet.wait(
        lambda: id not in plugin.ids(), plugin.sessions.patience(REGISTER_S)
    )
    came, known = time.monotonic(), plugin.devices()
    healthy = id in known and known[id].healthy
    rule = f"kubelet hears that {id!r} is gone"
    expect(not healthy, rule, wanted="another list", got=sorted(known))
    return math.inf if id in known else came
