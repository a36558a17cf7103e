"""Allocate: what may be asked for, how often, and what is refused."""

from __future__ import annotations

from functools import partial

from conformance.deviceplugin.plugins.answers import kept, lacking, repeated
from conformance.deviceplugin.plugins.capabilities import unhealthy
from conformance.deviceplugin.plugins.needs import ONE_DEVICE, TWO_DEVICES, UNHEALTHY
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.deviceplugin.plugins.refusals import answered, refused, survives
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect, together

ALLOCATE = "device plugin v1beta1, Allocate"
NEVER_LISTED = "refimpl-never-listed"


@case("DP-PLG-029", ALLOCATE, needs=[ONE_DEVICE])
def test_one_id_is_answered_for_one_container(plugin: DevicePluginUnderTest) -> None:
    """Kubelet asks so for nearly every container, and waits without a deadline of its own while no
    other pod of the node is admitted. 10 s are generous."""
    answer = plugin.calls.allocate(plugin.ids()[:1])
    got = len(answer.container_responses)
    expect(got == 1, "one answer for the one container", wanted=1, got=got)


@case("DP-PLG-030", ALLOCATE, needs=[TWO_DEVICES])
def test_the_answer_covers_all_ids_of_a_container(plugin: DevicePluginUnderTest) -> None:
    """The pod was promised so many devices and gets what this one answer has. Up to eight of them:
    what the plugin answers for each alone has to be in it."""
    ids = plugin.ids()[:8]
    alone = {id: kept(plugin, id) for id in ids}
    answers = plugin.calls.allocate(ids).container_responses
    expect(len(answers) == 1, "one answer for the one container", wanted=1, got=len(answers))
    missing = [fault for id in ids if (fault := lacking(answers[0], id, alone))]
    expect(
        not missing,
        "the answer for several ids has what the answers for each have",
        wanted=f"all of {', '.join(ids)}",
        got=missing,
    )


@case("DP-PLG-031", ALLOCATE, needs=[TWO_DEVICES])
def test_two_containers_get_two_answers_in_their_order(plugin: DevicePluginUnderTest) -> None:
    """No kubelet has sent two so far, but the message has room for them; swapped answers would give
    a container the devices of its neighbour."""
    ids = plugin.ids()[:2]
    alone = {id: kept(plugin, id) for id in ids}
    answers = plugin.calls.allocate(*([id] for id in ids)).container_responses
    expect(len(answers) == 2, "one answer for each container", wanted=2, got=len(answers))
    wrong = [
        f"answer {number}: {fault}"
        for number, id in enumerate(ids, 1)
        if (fault := lacking(answers[number - 1], id, alone))
    ]
    expect(not wrong, "answers are in the order of the containers", wanted=ids, got=wrong)


@case("DP-PLG-032", ALLOCATE, needs=[ONE_DEVICE])
def test_all_ids_can_be_had_at_once(plugin: DevicePluginUnderTest) -> None:
    """A pod may ask for the whole node; what is listed as healthy is on offer."""
    ids = plugin.ids()
    answers = plugin.calls.allocate(ids).container_responses
    rule = f"one answer for a container with all {len(ids)} devices"
    expect(len(answers) == 1, rule, wanted=1, got=len(answers))


@case("DP-PLG-033", ALLOCATE)
def test_an_id_that_was_never_listed_is_refused(plugin: DevicePluginUnderTest) -> None:
    """Kubelet may ask for a device of an earlier list. With an empty success the container starts
    without the device, and nobody knows why it does not work."""
    known = plugin.ids()[:1]
    with together() as check:
        for what, ids in (
            ("an id that was never listed", [NEVER_LISTED]),
            ("a listed id and one that was not", [*known, NEVER_LISTED]),
        ):
            with check:
                refused(partial(plugin.calls.allocate, ids), f"Allocate of {what} fails")
        with check:
            survives(plugin, "Allocate of an unknown id")


@case("DP-PLG-034", ALLOCATE, needs=[UNHEALTHY])
def test_an_unhealthy_id_is_refused(plugin: DevicePluginUnderTest) -> None:
    """Its list may still be on the way while kubelet asks for the device: the pod is better off
    failing now. A plugin that gives it all the same should say so in its documentation."""
    with unhealthy(plugin) as id:
        refused(
            lambda: plugin.calls.allocate([id]), f"Allocate of {id!r}, which is unhealthy, fails"
        )


@case("DP-PLG-035", ALLOCATE, needs=[ONE_DEVICE])
def test_an_id_given_twice_is_given_once(plugin: DevicePluginUnderTest) -> None:
    """A runtime may refuse a container that has the same path twice. To refuse the request is
    fine."""
    id = plugin.ids()[0]
    answer = answered(
        lambda: plugin.calls.allocate([id, id]), "Allocate of an id given twice is answered"
    )
    with together() as check:
        for given in answer.container_responses if answer else ():
            paths = [device.container_path for device in given.devices]
            twice = repeated(paths)
            rule = f"Allocate of [{id!r}, {id!r}] has no path of a device twice"
            with check:
                expect(not twice, rule, wanted="each path once", got=twice)
        with check:
            survives(plugin, "Allocate of an id given twice")


@case("DP-PLG-036", ALLOCATE)
def test_no_ids_give_no_devices(plugin: DevicePluginUnderTest) -> None:
    """Nothing was asked for, so nothing is handed out, least of all everything."""
    answer = answered(
        lambda: plugin.calls.allocate([]), "Allocate for a container without ids is answered"
    )
    answers = answer.container_responses if answer else ()
    with together() as check:
        with check:
            expect(
                len(answers) <= 1,
                "at most one answer for one container",
                wanted=1,
                got=len(answers),
            )
        for given in answers:
            with check:
                expect(
                    not [*given.devices, *given.mounts, *given.cdi_devices],
                    "no device, mount or CDI device for a container without ids",
                    wanted="an error or an empty answer",
                    got=given,
                )
        with check:
            survives(plugin, "Allocate without ids")


@case("DP-PLG-037", ALLOCATE)
def test_no_containers_give_no_answers(plugin: DevicePluginUnderTest) -> None:
    """The shape of request and reply is the same: one for one, none for none."""
    answer = answered(plugin.calls.allocate, "Allocate without containers is answered")
    got = len(answer.container_responses) if answer else 0
    with together() as check:
        with check:
            expect(got == 0, "no answer where there is no container", wanted=0, got=got)
        with check:
            survives(plugin, "Allocate without containers")


@case("DP-PLG-038", ALLOCATE, needs=[ONE_DEVICE])
def test_an_id_can_be_allocated_again_and_again(plugin: DevicePluginUnderTest) -> None:
    """Nobody tells a plugin that a pod has ended: the next one asks for the same device. Who counts
    places that are taken runs out of them, so it is asked for more often than there are devices."""
    ids = plugin.ids()
    times = min(len(ids), 20) + 2
    for turn in range(1, times + 1):
        answers = plugin.calls.allocate(ids[:1]).container_responses
        if len(answers) != 1:
            got = f"{len(answers)} answers the {turn}. time"
            raise Broken("an id can be allocated again", f"one answer, {times} times", got)
