"""Paths that a plugin can be given, and the loopback of a namespace."""

import threading
from pathlib import Path

import pytest

from refimpl.cni.host import sandbox
from refimpl.cni.host.kernel import Kernel
from refimpl.cni.runtime import namespaces


def test_a_path_is_usable_while_it_may_stand_for_a_namespace(tmp_path: Path) -> None:
    """Plain files do for a simulated kernel, but not where the kernel keeps its own."""
    stand_in = tmp_path / "ns"
    assert not namespaces.usable("")
    assert not namespaces.usable(str(stand_in))
    stand_in.touch()
    assert namespaces.usable(str(stand_in))
    assert namespaces.usable("/proc/self/ns/net")
    assert not namespaces.usable("/proc/self/ns/mnt")
    assert not namespaces.usable("/proc/self/status")
    assert namespaces.usable("vm-7")


def test_our_own_namespace_is_known() -> None:
    """RT-006: a plugin must never be let loose on it."""
    assert namespaces.is_own("/proc/thread-self/ns/net")
    assert not namespaces.is_own("/proc/thread-self/ns/mnt")
    assert not namespaces.is_own("/no/such")


def test_loopback_is_raised_from_outside() -> None:
    """RT-049: this thread stays where it is."""
    reason = sandbox.why_not()
    if reason:
        pytest.skip(reason)
    with sandbox.enter():
        kernel = Kernel()
        netns = kernel.make_netns()
        kernel.set_down(netns, "lo")
        here = Path("/proc/thread-self/ns/net").stat().st_ino
        namespaces.raise_loopback(netns)
        assert kernel.links(netns)["lo"].up
        assert Path("/proc/thread-self/ns/net").stat().st_ino == here
        kernel.close()
    assert threading.active_count() >= 1


def test_loopback_of_no_namespace_is_left_alone(tmp_path: Path) -> None:
    """A stand-in has none."""
    (tmp_path / "ns").touch()
    namespaces.raise_loopback(str(tmp_path / "ns"))
    assert (tmp_path / "ns").read_bytes() == b""
