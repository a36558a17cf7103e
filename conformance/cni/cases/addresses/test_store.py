"""The store of an IPAM plugin after something went wrong with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from conformance.cni.needs import IPAM, LOCAL_STORE
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.failures import ended
from conformance.cni.plugins.obstacles import Disk, mounts
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.reservations import (
    NETWORK,
    Reservations,
    failed,
    neighbours,
    pool,
    ranged,
)
from conformance.engine.case import case
from conformance.engine.verdict import timeout, together
from refimpl.cni.contract import Verb
from refimpl.cni.execute import Conditions, Outcome

_IO = 5
_SOON_S = 2.0

_LEFT = {
    "an empty entry": (f"{NETWORK}.11", b""),
    "an entry of junk": (f"{NETWORK}.12", b"\xff\x00\n" * 100),
    "an entry that is too long": (f"{NETWORK}.13", b"a" * 100_000),
    "a file of somebody else": (".nfs0001", b"10.88.7.14"),
    "an empty last_reserved_ip": ("last_reserved_ip.0", b""),
}
"""What crashes and others leave in a store."""


@case("CNI-PLG-115", "CNI 1.1 DEL, Error", needs=[IPAM, LOCAL_STORE])
def test_a_damaged_store_does_no_harm(plugin: PluginUnderTest) -> None:
    """Power fails and disks fill up; a pod that cannot be removed then keeps the node down."""
    config, pod = ranged(plugin, pool(9)), plugin.pod()
    plugin.added(pod, config)
    folder = Reservations(plugin).folder
    with together() as check:
        for name, (file, content) in _LEFT.items():
            (folder / file).write_bytes(content)
            other = pod.other(container_id=f"{pod.container_id}.{file.strip('.')}")
            with check:
                _clean(plugin.add(other, config), f"ADD beside {name}")
            with check:
                succeeded(plugin.delete(other, config), f"DEL beside {name} succeeds")
        shutil.rmtree(folder)
        with check:
            succeeded(plugin.delete(pod, config), "DEL succeeds though the store is gone")
        for name, where in _barred(plugin, pod):
            document = ranged(plugin, pool(9), dataDir=str(where))
            other = pod.other(container_id=f"{pod.container_id}.{where.name}")
            with check:
                failed(plugin.add(other, document), f"ADD fails where the store {name}", _IO)
            with check:
                ended(plugin.delete(other, document), f"DEL ends cleanly where the store {name}")


def _clean(outcome: Outcome, rule: str) -> None:
    """Raises Broken unless it succeeded, or failed as a plugin does that cannot use its store."""
    if not outcome.ok:
        failed(outcome, f"{rule} succeeds or tells what is wrong", _IO)


def _barred(plugin: PluginUnderTest, pod: CniAttachment) -> Iterator[tuple[str, Path]]:
    """Stores that take no reservation: what is wrong, and a dataDir."""
    plain = plugin.folder / "plain"
    plain.touch()
    yield "is a plain file", plain
    if mounts(plugin):
        for name, act in (("is read-only", Disk.protect), ("is on a full disk", Disk.fill)):
            disk = Disk(plugin, plugin.folder / act.__name__)
            first = pod.other(container_id=f"{pod.container_id}.first")
            plugin.added(first, ranged(plugin, pool(9), dataDir=str(disk.folder)))
            act(disk)
            yield name, disk.folder


@case("CNI-PLG-114", "practice: host-local locks with flock", needs=[IPAM, LOCAL_STORE])
def test_a_plugin_that_was_killed_locks_nobody_out(plugin: PluginUnderTest) -> None:
    """Runtimes kill what takes too long; a lock that outlives its holder stops the whole node."""
    pod, killed, later = neighbours(plugin.pod(), 3)
    plugin.added(pod)
    pipe = Reservations(plugin).folder / f"{NETWORK}.99"
    os.mkfifo(pipe)
    for after_s in (0.1, 0.5, 2.0):
        if _killed_inside(plugin, killed, pipe, timeout(after_s)):
            break
    pipe.unlink()
    rule = "after an ADD that was killed inside the store"
    with together() as check:
        for verb, each in ((Verb.ADD, later), (Verb.DEL, killed), (Verb.DEL, later)):
            outcome = plugin.run(plugin.request(verb, each), deadline_s=_SOON_S)
            with check:
                succeeded(outcome, f"{verb} succeeds at once {rule}")


def _killed_inside(plugin: PluginUnderTest, pod: CniAttachment, pipe: Path, after_s: float) -> bool:
    """SIGKILL for an ADD that reads the store, which it locks for that: it waits for what a pipe
    among the entries never says. Whether it got there, or ended though the pipe is there.
    """
    request = plugin.request(Verb.ADD, pod)
    with ThreadPoolExecutor(1) as threads:
        conditions = Conditions(kill_after_s=after_s)
        call = threads.submit(plugin.run, request, conditions=conditions)
        reached = _read_by(call, pipe)
    return reached or call.result().status >= 0


def _read_by(call: Future[Any], pipe: Path) -> bool:
    """Whether somebody opens the pipe while the call lasts; then it is held open until the end."""
    while not call.done():
        try:
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # fifo(7): nobody reads it
            wait([call], timeout=0.002)
            continue
        wait([call])
        os.close(writer)
        return True
    return False
