"""What the kernel and the runtime write into a virtual container, by absolute path: a table that a
topic adds a function to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from refimpl.cri.state.models import Container, Sandbox
from refimpl.cri.virtual.machine import cgroups
from refimpl.cri.virtual.machine.table import Table

__all__ = ["Machine", "texts"]


@attrs.frozen(kw_only=True)
class Machine:
    """What all of it follows from: a container, its sandbox, its mounts, and its present
    resources."""

    container: Container
    sandbox: Sandbox | None
    table: Table
    resources: Any


def texts(machine: Machine) -> dict[str, str]:
    """Each file's text by its path."""
    made: dict[str, str] = {}
    for topic in _TOPICS:
        made |= topic(machine)
    return made


def _mounts(machine: Machine) -> dict[str, str]:
    """proc_pid_mountinfo(5)."""
    return {"/proc/self/mountinfo": machine.table.mountinfo()}


def _sandbox(machine: Machine) -> dict[str, str]:
    """Those of a sandbox: its names, its resolver, its sysctls."""
    if machine.sandbox is None:
        return {}
    pod = machine.sandbox.config
    dns = pod.dns_config
    lines = [f"nameserver {server}" for server in dns.servers]
    if dns.searches:
        lines.append(f"search {' '.join(dns.searches)}")
    if dns.options:
        lines.append(f"options {' '.join(dns.options)}")
    made = {f"/proc/sys/{key.replace('.', '/')}": v for key, v in pod.linux.sysctls.items()}
    if lines:
        made["/etc/resolv.conf"] = "\n".join(lines)
    if pod.hostname:
        made["/etc/hostname"] = pod.hostname
    return {path: f"{text}\n" for path, text in made.items()}


def _cgroup(machine: Machine) -> dict[str, str]:
    return cgroups.texts(machine.resources) if machine.resources is not None else {}


_TOPICS: tuple[Callable[[Machine], dict[str, str]], ...] = (_mounts, _sandbox, _cgroup)
"""A module a topic, in their order: the later one wins."""
