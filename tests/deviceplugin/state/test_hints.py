"""Hints beyond the vectors: what is held already, and what is no topology."""

from __future__ import annotations

from collections.abc import Collection

from refimpl.deviceplugin.profiles import settings_of
from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.hints import Hint, Hints, generate, resource_hints
from refimpl.deviceplugin.state.models import Device

R = "example.com/gpu"
DEV2 = {name: Device(name, nodes=(node,)) for name, node in zip("abcd", (0, 0, 1, 1), strict=True)}


def hints(request: int, free: Collection[str], allocated: Collection[str] = ()) -> Hints:
    devices = Devices()
    devices.take(R, DEV2.values())
    settings = settings_of("1.37")
    return resource_hints(devices, settings, (0, 1), R, request, free=free, allocated=allocated)


def test_what_a_container_holds_makes_the_same_hints_again() -> None:
    """After a restart nothing of it is free, and its placement must come out as before."""
    assert hints(2, free=(), allocated=("a", "b")) == (Hint(1, True), Hint(3, False))


def test_holding_another_number_than_asked_cannot_be_placed() -> None:
    """Rather than be placed anew."""
    assert hints(1, free="cd", allocated=("a", "b")) == ()


def test_a_reused_device_with_a_topology_of_no_nodes_rules_out_every_mask() -> None:
    """It lies nowhere, and every mask must hold it; without a topology it is left out."""
    known = {**DEV2, "e": Device("e", nodes=()), "f": Device("f")}
    assert generate(known, (0, 1), 1, "abcd", ["e"]) == ()
    assert len(generate(known, (0, 1), 1, "abcd", ["f"])) == 3


def test_a_reused_device_that_left_the_list_is_no_reason_to_fail() -> None:
    """Its place is not known any more."""
    assert len(generate(DEV2, (0, 1), 1, "abcd", ["gone"])) == 3
    assert str(generate(DEV2, (0, 1), 1, "ab")[0]) == "{0}+"


def test_many_devices_on_many_nodes_are_no_burden() -> None:
    """DP-KUB-018: equal places are counted together."""
    many = {f"d{n}": Device(f"d{n}", nodes=(n % 8,)) for n in range(10_000)}
    hints = generate(many, range(8), 1251, many)
    assert len(hints) == 255 - 8
    assert sum(hint.preferred for hint in hints) == 28
