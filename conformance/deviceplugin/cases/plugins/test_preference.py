"""GetPreferredAllocation: which of the devices that are free a container had best be given."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from conformance.deviceplugin.plugins.capabilities import unhealthy
from conformance.deviceplugin.plugins.needs import (
    NO_PREFERENCE,
    ONE_DEVICE,
    PREFERS,
    TWO_DEVICES,
    UNHEALTHY,
)
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.deviceplugin.plugins.refusals import answered, refused, survives
from conformance.engine.case import case
from conformance.engine.verdict import Doubtful, expect, expect_status, should, together
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.wire.status import Code, Refused

PREFERRED = "device plugin v1beta1, GetPreferredAllocation"
QUICK_S, SLOW_S = 1.0, 10.0
"""Meanwhile no pod of the node is admitted: what is to be borne, and what is not."""


@case("DP-PLG-051", PREFERRED, needs=[PREFERS, ONE_DEVICE])
def test_as_many_of_the_offered_devices_are_preferred_as_are_asked_for(
    plugin: DevicePluginUnderTest,
) -> None:
    """Kubelet drops what it did not offer, cuts what is too much and fills what is too little with
    any device: the preference is lost without a word."""
    ids = plugin.ids()[:8]
    with together() as check:
        for must in ([], ids[:1], ids[-1:], ids[:2]):
            with check:
                for size in range(max(len(must), 1), len(ids) + 1):
                    _check(_preferred(plugin, ids, size, must), ids, size, must)
        rest = ids[1:]
        if rest:
            _check(_preferred(plugin, rest, 1), rest, 1)


@case("DP-PLG-052", PREFERRED, needs=[PREFERS, ONE_DEVICE])
def test_all_are_preferred_when_all_are_needed(plugin: DevicePluginUnderTest) -> None:
    """Kubelet asks also where there is no choice."""
    ids = plugin.ids()[:8]
    chosen = _preferred(plugin, ids, len(ids))
    expect(sorted(chosen) == ids, f"all {len(ids)} of {len(ids)} devices", wanted=ids, got=chosen)


@case("DP-PLG-053", PREFERRED, needs=[PREFERS, ONE_DEVICE])
def test_what_must_be_included_is_all_where_that_is_enough(plugin: DevicePluginUnderTest) -> None:
    """The devices that an init container of the pod had go on to the next one."""
    ids = plugin.ids()[:8]
    with together() as check:
        for must in (ids[:1], ids[-2:], ids):
            with check:
                chosen = _preferred(plugin, ids, len(must), must)
                expect(
                    sorted(chosen) == sorted(must),
                    f"{len(must)} devices of which {len(must)} must be included",
                    wanted=must,
                    got=chosen,
                )


@case("DP-PLG-054", PREFERRED, needs=[PREFERS, TWO_DEVICES, UNHEALTHY])
def test_a_device_that_fails_does_not_spoil_the_preference(plugin: DevicePluginUnderTest) -> None:
    """An error of this call fails the pod: a plugin that cannot bear the sight of one dead device
    has every pod of the node refused."""
    with unhealthy(plugin) as id:
        rest = [each for each in plugin.ids() if each != id][:8]
        for size in range(1, len(rest) + 1):
            _check(_preferred(plugin, rest, size), rest, size)


@case("DP-PLG-055", PREFERRED, needs=[PREFERS, ONE_DEVICE])
def test_what_cannot_be_preferred_is_an_error(plugin: DevicePluginUnderTest) -> None:
    """Kubelet does not ask so; whoever does has made a mistake, and an answer would hide it."""
    ids = plugin.ids()[:8]
    with together() as check:
        for what, available, must, size in (
            ("more devices than are available", ids, [], len(ids) + 1),
            ("a device that is not available", ids[1:], ids[:1], 1),
        ):
            ask = partial(_ask, plugin, available, size, must)
            with check:
                refused(ask, f"GetPreferredAllocation of {what} fails")
        with check:
            survives(plugin, "GetPreferredAllocation of what cannot be")


@case("DP-PLG-056", PREFERRED, needs=[PREFERS, ONE_DEVICE])
def test_no_number_of_devices_kills_the_plugin(plugin: DevicePluginUnderTest) -> None:
    """Whatever the answer is: a slice of negative length is a crash in many a language."""
    ids = plugin.ids()[:8]
    with together() as check:
        for size in (0, -1, -(2**31)):
            for must in ([], ids[:1]):
                ask = partial(_ask, plugin, ids, size, must)
                with check:
                    answered(ask, f"GetPreferredAllocation of {size} devices is answered")
        survives(plugin, "GetPreferredAllocation of fewer than one device")


@case("DP-PLG-057", PREFERRED, needs=[PREFERS, ONE_DEVICE])
def test_the_order_of_the_ids_does_not_matter(plugin: DevicePluginUnderTest) -> None:
    """Kubelet's sets have no order, so each call brings another one. The same devices for the same
    question make the placement of a pod comprehensible."""
    ids = plugin.ids()[:8]
    size = max(1, len(ids) // 2)
    turned = [*reversed(ids)], [*ids[1:], ids[0]], ids
    first = _preferred(plugin, ids, size)
    _check(first, ids, size)
    with together() as check:
        for available in turned:
            with check:
                chosen = _preferred(plugin, available, size)
                _check(chosen, ids, size)
                should(
                    sorted(chosen) == sorted(first),
                    "the same question is answered in the same way",
                    wanted=sorted(first),
                    got=f"{sorted(chosen)} for {available}",
                )


@case("DP-PLG-058", PREFERRED, needs=[PREFERS, ONE_DEVICE])
def test_a_preference_is_found_quickly(plugin: DevicePluginUnderTest) -> None:
    """No pod of the node is admitted in the meantime: 10 s are too long, one should do. Half of
    eight and of 64 devices, or of as many as there are."""
    ids = plugin.ids()
    with together() as check:
        for count in dict.fromkeys((min(8, len(ids)), min(64, len(ids)))):
            with check:
                _check_quick(plugin, _request(ids[:count], max(1, count // 2)), count)


def _check_quick(
    plugin: DevicePluginUnderTest, request: pb.PreferredAllocationRequest, count: int
) -> None:
    try:
        plugin.calls.stub.GetPreferredAllocation(request, timeout=QUICK_S)
    except Refused as refused:
        if refused.code != Code.DEADLINE_EXCEEDED:
            raise
        plugin.calls.stub.GetPreferredAllocation(request, timeout=SLOW_S)
        rule = f"GetPreferredAllocation of {count} devices is answered within {QUICK_S:g} s"
        raise Doubtful(rule, "an answer", f"none; it took up to {SLOW_S:g} s") from None


@case("DP-PLG-059", PREFERRED, needs=[NO_PREFERENCE, ONE_DEVICE])
def test_who_does_not_offer_a_preference_has_none(plugin: DevicePluginUnderTest) -> None:
    """UNIMPLEMENTED or nothing: then nobody can take a default for a preference."""
    ids = plugin.ids()[:8]
    answer = expect_status(
        lambda: _ask(plugin, ids, 1),
        {Code.OK, Code.UNIMPLEMENTED},
        "GetPreferredAllocation that is not offered is UNIMPLEMENTED, or has an empty answer",
    )
    named = [id for each in (answer.container_responses if answer else ()) for id in each.deviceIDs]
    with together() as check:
        with check:
            expect(not named, "no devices are preferred", wanted="an empty answer", got=named)
        with check:
            survives(plugin, "GetPreferredAllocation")


def _check(
    chosen: Sequence[str], available: Collection[str], size: int, must: Collection[str] = ()
) -> None:
    rule = f"{size} of {len(available)} devices are preferred, {len(must)} given ones among them"
    fits = len(chosen) == size == len(set(chosen)) and set(must) <= set(chosen) <= set(available)
    wanted = f"{size} different ones of {sorted(available)} with {sorted(must)}"
    expect(fits, rule, wanted=wanted, got=list(chosen))


def _preferred(
    plugin: DevicePluginUnderTest, available: Sequence[str], size: int, must: Sequence[str] = ()
) -> list[str]:
    """The ids of the one answer."""
    answers = _ask(plugin, available, size, must).container_responses
    expect(len(answers) == 1, "one answer for the one container", wanted=1, got=len(answers))
    return list(answers[0].deviceIDs)


def _ask(
    plugin: DevicePluginUnderTest, available: Sequence[str], size: int, must: Sequence[str] = ()
) -> pb.PreferredAllocationResponse:
    return plugin.calls.stub.GetPreferredAllocation(_request(available, size, must), timeout=SLOW_S)


def _request(
    available: Sequence[str], size: int, must: Sequence[str] = ()
) -> pb.PreferredAllocationRequest:
    request = pb.PreferredAllocationRequest()
    request.container_requests.add(
        available_deviceIDs=available, must_include_deviceIDs=must, allocation_size=size
    )
    return request
