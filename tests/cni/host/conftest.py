"""Sandboxes for tests: in this process as root, in a forked one as a user without any right."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from refimpl.cni.host import sandbox, syscalls
from refimpl.cni.host.kernel import Kernel

NOBODY = 65534
Play = Callable[[Callable[[Kernel], None]], None]
AsUser = Callable[[Callable[[], None]], None]


def as_user(act: Callable[[], None]) -> None:
    """Runs `act` in a forked process of uid 65534 (of the own uid, without root): what fails there
    fails here. Forked, not started: that uid often may not read the interpreter's files."""
    importlib.import_module("pyroute2")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _become_nobody()
            act()
        except BaseException:
            os.write(writer, traceback.format_exc().encode()[:60_000])
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as answers:
        failure = answers.read()
    os.waitpid(child, 0)
    assert not failure, failure


def _become_nobody() -> None:
    os.chdir("/")
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        # Dropping root hides /proc/self from the new uid; a program started by it would see it.
        ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE


@pytest.fixture
def user() -> AsUser:
    """`as_user`, for tests of what happens without root."""
    return as_user


@pytest.fixture
def root() -> None:
    """Tests that only root can do in the process they run in."""
    if os.geteuid() != 0:
        pytest.skip("entering and leaving a sandbox in one process needs root")
    reason = sandbox.why_not()
    if reason:
        pytest.skip(reason)


@pytest.fixture(params=["root", "user"])
def play(request: pytest.FixtureRequest) -> Iterator[Play]:
    """Plays a story on a kernel in a fresh sandbox, once as root and once without any right."""
    if request.param == "user":
        yield lambda story: as_user(lambda: _in_sandbox(story))
        return
    request.getfixturevalue("root")
    yield _in_sandbox


def _in_sandbox(story: Callable[[Kernel], None]) -> None:
    with sandbox.enter(), contextlib.closing(Kernel()) as kernel:
        story(kernel)


@pytest.fixture
def configured() -> Callable[[str | None], AbstractContextManager[Any]]:
    """An IPRoute in a namespace, to do what a plugin would do."""
    return _configured


@pytest.fixture
def attach() -> Callable[[str], None]:
    """Attaches a namespace as a bridge plugin would: eth0 inside, veth0 at cni0 on the host."""
    return _attach


@contextlib.contextmanager
def _configured(netns: str | None) -> Iterator[Any]:
    """An IPRoute in a namespace, to do what a plugin would do."""
    from pyroute2 import IPRoute

    with contextlib.ExitStack() as stack:
        if netns:
            opened = os.open(netns, os.O_RDONLY)
            stack.callback(os.close, opened)
            stack.enter_context(syscalls.inside(opened))
        yield stack.enter_context(IPRoute())


def _attach(netns: str) -> None:
    """What a bridge plugin makes: a pair into the namespace, addresses, routes, a bridge port."""
    inside = os.open(netns, os.O_RDONLY)
    with _configured(None) as route:
        route.link("add", ifname="cni0", kind="bridge", state="up")
        bridge = route.link_lookup(ifname="cni0")[0]
        peer = {"ifname": "eth0", "net_ns_fd": inside}
        route.link("add", ifname="veth0", kind="veth", peer=peer)
        route.link("set", ifname="veth0", master=bridge, state="up")
    os.close(inside)
    with _configured(netns) as route:
        index = route.link_lookup(ifname="eth0")[0]
        route.link("set", index=index, state="up", mtu=1400, address="02:00:00:00:00:07")
        route.addr("add", index=index, address="10.7.0.2", prefixlen=16)
        route.addr("add", index=index, address="fd07::2", prefixlen=64, flags=0x2)  # no DAD
        route.route("add", dst="default", gateway="10.7.0.1")
        route.route("add", dst="fd08::/48", gateway="fd07::1")
