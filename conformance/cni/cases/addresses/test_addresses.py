"""Addresses from an IPAM plugin: what a result holds, when ranges end, when addresses return."""

from __future__ import annotations

from typing import Any

from conformance.cni.needs import ATTACHES, DAEMON, IPAM, LOCAL_STORE, RANGES, V0_4
from conformance.cni.plugins.failures import refused
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.reservations import (
    NETWORK,
    Reservations,
    addresses,
    failed,
    given,
    neighbours,
    pool,
    ranged,
)
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni import contract

_TRY_AGAIN = 11


@case("CNI-PLG-117", "CNI 1.1 Delegated plugins (IPAM)", needs=[IPAM, ATTACHES])
def test_an_ipam_result_names_no_interface(plugin: PluginUnderTest) -> None:
    """The plugin above makes the interfaces and numbers them; a number of IPAM's is a wrong one."""
    pod = plugin.pod()
    with together() as check:
        for version in contract.VERSIONS:
            if version not in plugin.versions or not contract.at_least(version, "0.3.0"):
                continue  # before 0.3.0 no result had interfaces
            result = plugin.added(pod, plugin.config(version))
            rule = f"an IPAM result of {version} has no interfaces"
            with check:
                expect("interfaces" not in result, rule, wanted="no such member", got=result)
            numbered = [each for each in result.get("ips", ()) if "interface" in each]
            rule = f"the addresses of an IPAM result of {version} name no interface"
            with check:
                expect(not numbered, rule, wanted="no such member", got=numbered)
            plugin.delete(pod)


@case("CNI-PLG-112", "CNI 1.1 ADD, Error", needs=[IPAM, RANGES])
def test_an_exhausted_range_refuses_until_an_address_returns(plugin: PluginUnderTest) -> None:
    """A full node has to say so, and to work again once a pod is gone."""
    config, pod = ranged(plugin, pool(2)), plugin.pod()
    first, second, third = neighbours(pod, 3)
    held = [*given(plugin.add(first, config), "ADD takes one of two addresses")]
    held += given(plugin.add(second, config), "ADD takes the other one of two addresses")
    with together() as check:
        rule = "no address is given twice"
        with check:
            expect(len(set(held)) == len(held), rule, wanted="two addresses", got=held)
        outcome = plugin.add(third, config)
        with check:
            failed(outcome, "ADD for a range without a free address fails", _TRY_AGAIN)
        plugin.delete(third, config)
        with check:
            plugin.deleted(first, config)
            given(plugin.add(third, config), "an address that was released is given again")


@case("CNI-PLG-113", "CNI 1.1 ADD, Error", needs=[IPAM, RANGES])
def test_an_add_that_gets_one_family_only_keeps_nothing(plugin: PluginUnderTest) -> None:
    """Each failed try would eat an address, until the family that had enough is empty too."""
    single = {"subnet": "fd00:88::/64", "rangeStart": "fd00:88::10", "rangeEnd": "fd00:88::10"}
    both, pod = ranged(plugin, pool(2), single), plugin.pod()
    first, second, third = neighbours(pod, 3)
    addresses = given(plugin.add(first, both), "ADD takes an address of each family")
    with together() as check:
        rule = "two range sets give two addresses"
        with check:
            expect(len(addresses) == 2, rule, wanted="one of IPv4, one of IPv6", got=addresses)
        with check:
            failed(
                plugin.add(second, both),
                "ADD fails where one family has no address left",
                _TRY_AGAIN,
            )
        with check:
            outcome = plugin.add(third, ranged(plugin, pool(2)))
            succeeded(
                outcome, "the address of the other family was released by the ADD that failed"
            )


@case("CNI-PLG-116", "CNI 1.1 Parameters, CNI_CONTAINERID", needs=[IPAM, ATTACHES, V0_4])
def test_container_ids_are_told_apart_and_may_come_again(plugin: PluginUnderTest) -> None:
    """One pod's end must not take the address of another whose id looks nearly the same."""
    pod = plugin.pod()
    with together() as check:
        with check:
            for turn in ("first", "second"):
                succeeded(plugin.add(pod), f"ADD of one container id succeeds for the {turn} time")
                plugin.deleted(pod)
        upper = pod.other(container_id=f"{pod.container_id}-Web")
        lower = pod.other(container_id=f"{pod.container_id}-web")
        plugin.added(upper)
        with check:
            succeeded(
                plugin.add(lower), "ADD succeeds for an id that differs from another in case alone"
            )
        with check:
            plugin.deleted(lower)
        rule = "DEL leaves the attachment of an id that differs in case alone"
        with check:
            succeeded(plugin.check(upper), f"{rule}: its CHECK succeeds")


def _unusable() -> dict[str, list[dict[str, str]]]:
    """Range sets from which no address can be given, by what is wrong."""
    subnet = f"{NETWORK}.0/24"
    lower = {"subnet": subnet, "rangeStart": f"{NETWORK}.10", "rangeEnd": f"{NETWORK}.20"}
    upper = {"subnet": subnet, "rangeStart": f"{NETWORK}.20", "rangeEnd": f"{NETWORK}.30"}
    return {
        "a subnet /31": [{"subnet": f"{NETWORK}.0/31"}],
        "a subnet /32": [{"subnet": f"{NETWORK}.1/32"}],
        "a subnet /127": [{"subnet": "fd00:88::/127"}],
        "a gateway outside of the subnet": [{"subnet": subnet, "gateway": "10.99.0.1"}],
        "rangeStart after rangeEnd": [
            {"subnet": subnet, "rangeStart": f"{NETWORK}.30", "rangeEnd": f"{NETWORK}.20"}
        ],
        "overlapping ranges": [lower, upper],
    }


@case("CNI-PLG-119", "CNI 1.1 Error, code 7", needs=[IPAM, RANGES])
def test_ranges_that_cannot_work_are_refused(plugin: PluginUnderTest) -> None:
    """Found when the first pod starts they cost a minute; found at the 200th a night."""
    pod = plugin.pod()
    with together() as check:
        for name, ranges in _unusable().items():
            outcome = plugin.add(pod, ranged(plugin, *ranges))
            with check:
                refused(outcome, {7}, f"{name} in the configuration is refused")


def _released(plugin: PluginUnderTest, config: dict[str, Any], how: str) -> None:
    """ADD with the one address there is, DEL with the document, and the address is free again."""
    one, pod = ranged(plugin, pool(1)), plugin.pod()
    first, second = neighbours(pod, 2)
    plugin.added(first, one)
    with together() as check:
        with check:
            succeeded(plugin.delete(first, config), f"DEL with {how} succeeds")
        with check:
            succeeded(plugin.add(second, one), f"DEL with {how} releases the address")


@case("CNI-PLG-079", "CNI 1.1 DEL", needs=[IPAM, RANGES, V0_4])
def test_delete_releases_an_address_of_a_range_that_was_replaced(plugin: PluginUnderTest) -> None:
    """Administrators move ranges while pods run; runtimes send DEL the new configuration."""
    moved = {"subnet": "10.99.0.0/24"}
    _released(plugin, ranged(plugin, moved), "a range that the address is not in")


@case("CNI-PLG-080", "CNI 1.1 DEL", needs=[IPAM, RANGES, V0_4])
def test_delete_releases_an_address_though_the_ranges_cannot_be_read(
    plugin: PluginUnderTest,
) -> None:
    """A slip in the configuration must not pile up pods that cannot be removed."""
    _released(plugin, ranged(plugin, {"subnet": f"{NETWORK}.0/99"}), "a malformed subnet")


@case("CNI-PLG-081", "CNI 1.1 DEL", needs=[IPAM, DAEMON, V0_4])
def test_delete_succeeds_though_the_daemon_is_gone(plugin: PluginUnderTest) -> None:
    """A lease that is not given back runs out; a pod that cannot be removed stays."""
    socket = str(plugin.folder / "nobody.sock")
    config = plugin.config(ipam=plugin.ipam(daemonSocketPath=socket))
    rule = "DEL succeeds where nobody listens on ipam.daemonSocketPath"
    succeeded(plugin.delete(plugin.pod(), config), rule)


@case("CNI-PLG-093", "CNI 1.1 CHECK", needs=[IPAM, LOCAL_STORE, V0_4])
def test_check_misses_a_reservation(plugin: PluginUnderTest) -> None:
    """An address that is no longer reserved is soon another pod's as well."""
    pod = plugin.pod()
    plugin.added(pod)
    store, address = Reservations(plugin), addresses(pod.result or {})[0]
    entry = store.folder / address
    content = entry.read_bytes()
    entry.unlink()
    with together() as check:
        with check:
            _noticed(plugin.check(pod), "the reservation was removed")
        store.write(address, f"{pod.container_id}-other", pod.ifname)
        with check:
            _noticed(plugin.check(pod), "another container has the address")
        entry.unlink()
        (store.folder / f"{NETWORK}.99").write_bytes(content)
        with check:
            _noticed(plugin.check(pod), "the container has another address than in prevResult")


def _noticed(outcome: Any, how: str) -> None:
    expect(not outcome.ok, f"CHECK fails: {how}", wanted="a failure", got=outcome.brief())
