"""What this machine can test: each check says what it found, what that allows, what to do."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import attrs


@attrs.frozen
class Check:
    """One finding. `needed`: without it nothing works; the others widen what can be tested."""

    name: str
    good: bool
    found: str
    allows: str
    advice: str = ""
    needed: bool = False


def examine() -> Iterator[Check]:
    """Every check, the needed ones first."""
    for look in _CHECKS:
        yield look()


def _python() -> Check:
    version = platform.python_version()
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("grpcio", "protobuf"))
    return Check("python", True, f"{version}, {packages}", "everything", needed=True)


def _temporary() -> Check:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free >> 20
    return Check(
        "disk",
        free > 256,
        f"{free} MiB free in {folder}",
        "sockets, staging and target directories, report folders",
        "free some space or set TMPDIR",
        needed=True,
    )


def _root() -> Check:
    root = os.geteuid() == 0
    return Check(
        "root",
        root,
        "yes" if root else "no",
        "cases that look at mounts, block devices and read-only volumes",
        "run as root, or in `unshare -Urm`",
    )


def _mounts() -> Check:
    done = _quietly(["unshare", "-m", "true"]) or _quietly(["unshare", "-Urm", "true"])
    return Check(
        "mounts",
        done,
        "a mount namespace can be made" if done else "no mount namespace can be made",
        "fakes with real bind mounts",
        "allow user namespaces (kernel.unprivileged_userns_clone, AppArmor) or run as root",
    )


def _loops() -> Check:
    there = Path("/dev/loop-control").exists()
    return Check(
        "loop devices",
        there,
        "/dev/loop-control" if there else "none",
        "block volumes that are devices",
        "in a container: pass /dev/loop-control and loop devices in",
    )


def _namespaces() -> Check:
    from refimpl.cni.host import sandbox

    reason = sandbox.why_not()
    return Check(
        "sandbox",
        not reason,
        reason or "network namespaces of our own can be made",
        "CNI plugins judged on real links",
        "allow user namespaces (user.max_user_namespaces, AppArmor) or run as root",
    )


def _links() -> Check:
    """The kinds of links that plugins make, as far as this kernel knows them."""
    from refimpl.cni.host import kernel, sandbox

    if sandbox.why_not():
        return Check("link kinds", False, "not known", "the plugins named like them", "see sandbox")
    known = _in_child(lambda: [kind for kind in _KINDS if kernel.Kernel().supports(kind)])
    return Check(
        "link kinds",
        "veth" in known,
        ", ".join(known) or "none",
        "the plugins named like them",
        "load the modules, or take a kernel that has them",
    )


_KINDS = ("veth", "bridge", "macvlan", "ipvlan", "vlan", "dummy", "vrf", "ifb", "tun")


def _program(name: str, allows: str, advice: str) -> Callable[[], Check]:
    def look() -> Check:
        path = shutil.which(name)
        return Check(name, path is not None, path or "not on PATH", allows, advice)

    return look


_CHECKS: tuple[Callable[[], Check], ...] = (
    _python,
    _temporary,
    _root,
    _mounts,
    _loops,
    _namespaces,
    _links,
    _program("iptables", "CNI plugins that masquerade or map ports", "install iptables"),
    _program("mkfs.ext4", "volumes with a file system of their own size", "install e2fsprogs"),
    _program(
        "grpcurl",
        "the `last call` lines of a report",
        "go install github.com/fullstorydev/grpcurl/cmd/grpcurl@latest",
    ),
    _program("go", "building the peers that tests/live runs", "install Go 1.26 or later"),
)


def _quietly(command: list[str]) -> bool:
    try:
        done = subprocess.run(command, capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _in_child(look: Callable[[], list[str]]) -> list[str]:
    """What is found inside a sandbox, by a process that ends with it."""
    from refimpl.cni.host import sandbox

    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with sandbox.enter():
                os.write(send, " ".join(look()).encode())
        finally:
            os._exit(0)
    os.close(send)
    with open(receive, "rb") as pipe:
        answer = pipe.read().decode()
    os.waitpid(child, 0)
    return answer.split()
