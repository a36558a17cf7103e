"""GC: what belongs to no attachment of the list goes, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from conformance.cni.needs import ATTACHES, IPAM, LOCAL_STORE, NETNS, V1_1
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.failures import refused
from conformance.cni.plugins.obstacles import unremovable
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.reservations import NETWORK, Reservations, neighbours, ranged
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.contract import SINCE, VERSIONS, ErrorCode, Verb, at_least
from refimpl.cni.execute import Outcome

_LIST = "cni.dev/valid-attachments"
_DECODE, _CONFIGURATION = 6, 7


def _gc_with(plugin: PluginUnderTest, listed: Any) -> Outcome:
    """GC with anything in the place of the list."""
    return plugin.run(plugin.request(Verb.GC, None, plugin.config() | {_LIST: listed}))


def _kept(store: Reservations, pods: Iterable[CniAttachment], rule: str) -> None:
    """Raises Broken unless these attachments and no others have reservations."""
    wanted = sorted((pod.container_id, pod.ifname) for pod in pods)
    owners = sorted(store.owners().values())
    expect(owners == wanted, rule, wanted=wanted, got=owners)


@case("CNI-PLG-095", "CNI 1.1 GC", needs=[IPAM, LOCAL_STORE, V1_1])
def test_gc_releases_what_is_not_in_the_list(plugin: PluginUnderTest) -> None:
    """A pod whose DEL never came holds its address for ever, unless GC finds it."""
    kept, *stale = neighbours(plugin.pod(), 3)
    for pod in (kept, *stale):
        plugin.added(pod)
    elsewhere, network = neighbours(plugin.pod(), 1)[0], f"{plugin.network}-other"
    plugin.added(elsewhere, plugin.config(name=network))
    with together() as check:
        with check:
            succeeded(plugin.gc([kept]), "GC succeeds")
        with check:
            _kept(
                Reservations(plugin), [kept], "GC releases what is not in the list, and that alone"
            )
        with check:
            _kept(Reservations(plugin, network), [elsewhere], "GC touches no other network")


@case("CNI-PLG-096", "CNI 1.1 GC", needs=[IPAM, LOCAL_STORE, V1_1])
def test_gc_with_an_empty_list_releases_everything(plugin: PluginUnderTest) -> None:
    """After a reboot no attachment is valid, and the store still holds them all."""
    for pod in neighbours(plugin.pod(), 2):
        plugin.added(pod)
    with together() as check:
        with check:
            succeeded(plugin.gc([]), "GC with an empty list succeeds")
        with check:
            _kept(
                Reservations(plugin), [], "GC with an empty list releases everything of the network"
            )


@case("CNI-PLG-097", "CNI 1.1 GC", needs=[ATTACHES, V1_1])
def test_gc_without_a_list_changes_nothing(plugin: PluginUnderTest) -> None:
    """A runtime that forgot the list, or means another key, must not tear every pod down."""
    calls: dict[str, Callable[[], Outcome]] = {
        "without the list": lambda: plugin.gc(None),
        "with null for the list": lambda: _gc_with(plugin, None),
    }
    with together() as check:
        for name, call in calls.items():
            plugin.attached()
            before = plugin.state()
            outcome = call()
            with check:
                code = outcome.error.code if not outcome.ok and outcome.error else None
                rule = f"GC {name} succeeds or says that the configuration is wrong"
                wanted = "exit 0 or code 7"
                expect(
                    outcome.ok or code == _CONFIGURATION, rule, wanted=wanted, got=outcome.brief()
                )
            with check:
                gone = before.difference(plugin.state())
                expect(not gone, f"GC {name} changes nothing", wanted="no difference", got=gone)


@case("CNI-PLG-098", "CNI 1.1 GC", needs=[IPAM, LOCAL_STORE, V1_1])
def test_gc_compares_whole_attachments(plugin: PluginUnderTest) -> None:
    """Ids of one runtime begin alike, and one container may have several interfaces."""
    pod, old = neighbours(plugin.pod(), 2)
    plugin.added(pod)
    store, numbers = Reservations(plugin), itertools.count(200)
    internals = store.internals()
    strangers = {
        "another interface of a valid container": (pod.container_id, f"{pod.ifname}9"),
        "an id that a valid one begins with": (pod.container_id[:-1], pod.ifname),
        "an id that begins with a valid one": (f"{pod.container_id}0", pod.ifname),
        "an entry of an old version": ("long-gone", ""),
    }
    for owner in (*strangers.values(), (old.container_id, "")):
        store.write(f"{NETWORK}.{next(numbers)}", *owner)
    with together() as check:
        with check:
            succeeded(plugin.gc([pod, old]), "GC succeeds")
        owners = store.owners().values()
        for name, owner in strangers.items():
            with check:
                expect(
                    owner not in owners,
                    f"GC releases {name}",
                    wanted="no such entry",
                    got=[*owners],
                )
        for name, owner in (
            ("a valid attachment", (pod.container_id, pod.ifname)),
            ("an entry of an old version, which names no interface", (old.container_id, "")),
        ):
            with check:
                expect(owner in owners, f"GC keeps {name}", wanted=owner, got=[*owners])
        with check:
            lost = internals - store.internals()
            expect(
                not lost,
                "GC keeps the store's own files",
                wanted=sorted(internals),
                got=sorted(lost),
            )


@case("CNI-PLG-099", "practice: the reference library")
def test_gc_is_refused_for_versions_before_it(plugin: PluginUnderTest) -> None:
    """GC came with 1.1.0. A plugin that has it refuses to guess what a document of an older version
    lists. To one that never heard of it, it is any unknown verb, without the container id that its
    other verbs have.
    """
    accepted = {ErrorCode.INCOMPATIBLE_VERSION, ErrorCode.INVALID_ENVIRONMENT}
    if not at_least(plugin.newest, SINCE[Verb.GC]):
        accepted.add(ErrorCode.UNKNOWN_CONTAINER)
    older = [each for each in VERSIONS if each in plugin.versions and not at_least(each, "1.1.0")]
    if not older:
        pytest.skip(f"{plugin.name} advertises no version before 1.1.0")
    with together() as check:
        for version in older:
            outcome = plugin.gc([], plugin.config(version))
            with check:
                refused(outcome, accepted, f"GC with cniVersion {version} is refused")


@case("CNI-PLG-101", "CNI 1.1 GC", needs=[IPAM, LOCAL_STORE, NETNS, V1_1])
def test_gc_goes_on_after_an_entry_it_cannot_release(plugin: PluginUnderTest) -> None:
    """One bad entry must not keep all others, and nobody looks after it unless it is told."""
    for pod in neighbours(plugin.pod(), 3):
        plugin.added(pod)
    store = Reservations(plugin)
    stuck = sorted(store.owners())[1]
    unremovable(plugin, store.folder / stuck)
    outcome = plugin.gc([])
    with together() as check:
        with check:
            left = set(store.owners()) - {stuck}
            rule = "GC releases the others though one entry cannot be removed"
            expect(not left, rule, wanted="no other entry", got=sorted(left))
        with check:
            rule = "GC reports the entry that cannot be removed"
            expect(not outcome.ok and outcome.error, rule, wanted="a failure", got=outcome.brief())


@case("CNI-PLG-102", "CNI 1.1 GC", needs=[V1_1])
def test_gc_may_be_repeated_and_told_of_strangers(plugin: PluginUnderTest) -> None:
    """Runtimes call it at each start; they may know of attachments that never came about."""
    pods = [plugin.attached()] if plugin.attaches else []
    stranger = CniAttachment("refimpl-never-added", "", plugin.settings.ifname or "eth0")
    with together() as check:
        for name, valid in (
            ("of the first time", pods),
            ("that is repeated", pods),
            ("whose list has an attachment that was never made", [*pods, stranger]),
        ):
            before = plugin.state()
            with check:
                succeeded(plugin.gc(valid), f"a GC {name} succeeds")
            with check:
                changed = before.difference(plugin.state())
                rule = f"a GC {name} leaves what is valid"
                expect(not changed, rule, wanted="no difference", got=changed)


@case("CNI-PLG-127", "CNI 1.1 GC, Error", needs=[IPAM, LOCAL_STORE, V1_1])
def test_gc_refuses_a_malformed_list(plugin: PluginUnderTest) -> None:
    """A list that is half understood names fewer attachments than there are: the rest goes."""
    pod = plugin.attached()
    name, number = {"ifname": pod.ifname}, {"containerID": 5, "ifname": pod.ifname}
    lists: list[Any] = ["all", 5, {}, [pod.container_id], [7], [None], [{}], [name], [number]]
    with together() as check:
        for listed in lists:
            outcome = _gc_with(plugin, listed)
            with check:
                _kept(
                    Reservations(plugin), [pod], f"GC with {listed!r} for the list releases nothing"
                )
            if not Reservations(plugin).owners():
                plugin.added(pod)  # for the next list to be judged by itself
            with check:
                code = outcome.error.code if not outcome.ok and outcome.error else None
                known = code in (_DECODE, _CONFIGURATION)
                rule = f"GC with {listed!r} for the list is refused"
                expect(known, rule, wanted="code 6 or 7", got=outcome.brief())


@case("CNI-PLG-128", "CNI 1.1 GC", needs=[IPAM, V1_1])
def test_gc_needs_neither_a_store_nor_ranges(plugin: PluginUnderTest) -> None:
    """Runtimes call it for every network, used or not, and with what is configured by then."""
    before = plugin.state()
    with together() as check:
        with check:
            succeeded(plugin.gc([]), "GC of a network that was never used succeeds")
        with check:
            if plugin.subject.ranged:
                succeeded(
                    plugin.gc([], ranged(plugin)), "GC with a configuration without ranges succeeds"
                )
        with check:
            changed = before.difference(plugin.state())
            rule = "GC of a network that was never used makes nothing"
            expect(not changed, rule, wanted="no difference", got=changed)
