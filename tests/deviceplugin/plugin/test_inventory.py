"""A list that is changed from anywhere and never told twice, nor missed."""

from __future__ import annotations

import threading

import pytest

from refimpl.deviceplugin.plugin.inventory import HEALTHY, UNHEALTHY, Device, Inventory


def seen(inventory: Inventory, version: int = -1) -> tuple[int, dict[str, str]]:
    """The version and the health of each device, once it is another than `version`."""
    change = inventory.changed(version, lambda: False)
    assert change is not None
    return change[0], {device.id: device.health for device in change[1]}


def test_each_change_is_a_new_version_and_no_change_is_none() -> None:
    """A stream sends once for each."""
    inventory = Inventory([Device("a"), Device("b")])
    version, devices = seen(inventory)
    assert devices == {"a": HEALTHY, "b": HEALTHY}
    inventory.set_health("a", HEALTHY)
    assert seen(inventory)[0] == version
    inventory.set_health("a", UNHEALTHY)
    inventory.add(Device("c"))
    inventory.remove("b")
    assert seen(inventory, version) == (version + 3, {"a": UNHEALTHY, "c": HEALTHY})


def test_who_waits_is_woken_by_a_change_or_to_end() -> None:
    """A stream whose caller is gone must not wait for the next change."""
    inventory = Inventory([Device("a")])
    version, _ = seen(inventory)
    ended = threading.Event()
    changes: list[object] = []
    waiting = threading.Thread(
        target=lambda: changes.append(inventory.changed(version, ended.is_set))
    )
    waiting.start()
    ended.set()
    inventory.wake()
    waiting.join(30)
    assert changes == [None]


def test_a_device_stays_while_something_is_allocated() -> None:
    """DP-PLG-084: as unhealthy, until the last answer is out."""
    inventory = Inventory([Device("a"), Device("b")])
    inventory.allocating()
    inventory.allocating()
    inventory.remove("a")
    inventory.answered()
    assert inventory.find("a").health == UNHEALTHY
    inventory.answered()
    assert [device.id for device in inventory.devices] == ["b"]


def test_a_device_that_is_about_to_leave_can_come_back() -> None:
    """The answer may be read before the plugin knows that it is out."""
    inventory = Inventory([Device("a")])
    inventory.allocating()
    inventory.remove("a")
    inventory.add(Device("a"))
    inventory.answered()
    assert inventory.devices == (Device("a"),)


def test_what_is_not_there_or_there_already_is_said() -> None:
    """The control socket makes 404 and 400 of these."""
    inventory = Inventory([Device("a")])
    for method in (inventory.find, inventory.remove, lambda id: inventory.set_health(id, HEALTHY)):
        with pytest.raises(LookupError, match="there is no device 'x'"):
            method("x")
    for id in ("a", ""):
        with pytest.raises(ValueError, match="an id is not empty, and of one device"):
            inventory.add(Device(id))
