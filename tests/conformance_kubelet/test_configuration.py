"""The configuration of a real kubelet."""

from __future__ import annotations

from conformance.kubelet.configuration import Ports


def test_ports_are_nobody_elses_until_they_are_released() -> None:
    """Four workers that start a kubelet each would now and then draw the same one."""
    taken = [Ports.free() for _ in range(50)]
    numbers = [number for ports in taken for number in (ports.api, ports.read, ports.health)]
    assert len(set(numbers)) == len(numbers) == 150
    for ports in taken:
        ports.release()
