"""Sandboxes: the namespaces of a pod, the files that its containers share, and the process that
holds them."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from refimpl.cni.host import syscalls
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.oci import cgroups
from refimpl.cri.oci.bundles import Bundle
from refimpl.cri.oci.config import sandbox_config
from refimpl.cri.oci.pins import pin, unpin
from refimpl.cri.oci.place import Place
from refimpl.cri.state.models import Sandbox, SandboxState
from refimpl.images.elf import PAUSE
from refimpl.wire.status import Code, Refused

__all__ = ["add_addresses", "bundle_of", "config_of", "dial", "files_of", "make", "remove"]

_HOST_SHM, _HOST_RESOLVER = "/dev/shm", "/etc/resolv.conf"
_HOSTS = ("127.0.0.1\tlocalhost", "::1\tlocalhost ip6-localhost ip6-loopback")
_LOOPBACK, _DIAL_S = ("127.0.0.1", "::1"), 5.0


def bundle_of(place: Place, sandbox: Sandbox) -> Bundle:
    """Its folder."""
    return Bundle(place.bundle(sandbox.id))


def make(place: Place, sandbox: Sandbox) -> str:
    """Its files and its network namespace, the path of which is returned; empty on the network of
    the node. Raises OSError."""
    bundle = bundle_of(place, sandbox)
    bundle.make()
    bundle.text("parents", "\n".join(cgroups.missing(place.cgroup_of(sandbox))))
    config = sandbox.config
    options = config.linux.security_context.namespace_options
    if options.ipc != pb.NODE:
        bundle.shared_memory()
    rootfs = bundle.folder / "rootfs"
    rootfs.mkdir()
    (rootfs / "pause").write_bytes(PAUSE)
    (rootfs / "pause").chmod(0o755)
    hostname = config.hostname or (socket.gethostname() if sandbox.host_network else "")
    bundle.text("hostname", f"{hostname}\n")
    bundle.text("resolv.conf", _resolver(config.dns_config))
    if sandbox.host_network:
        return ""
    netns = place.folder / "net" / sandbox.id
    pin(netns)
    return str(netns)


def add_addresses(bundle: Bundle, sandbox: Sandbox) -> None:
    """/etc/hosts of its containers, once it has addresses. Raises OSError."""
    name = sandbox.config.hostname
    own = [f"{each}\t{name}" for each in sandbox.addresses if name]
    bundle.text("hosts", "".join(f"{line}\n" for line in (*_HOSTS, *own)))


def files_of(place: Place, sandbox: Sandbox) -> dict[str, str]:
    """What all its containers find, by path inside."""
    folder = bundle_of(place, sandbox).folder
    names = ("hostname", "hosts", "resolv.conf")
    options = sandbox.config.linux.security_context.namespace_options
    shm = _HOST_SHM if options.ipc == pb.NODE else str(folder / "shm")
    return {"/dev/shm": shm, **{f"/etc/{name}": str(folder / name) for name in names}}


def config_of(place: Place, sandbox: Sandbox) -> dict[str, Any]:
    """config.json of the process that holds its namespaces."""
    folder = bundle_of(place, sandbox).folder
    files, parent = files_of(place, sandbox), place.cgroup_of(sandbox)
    return sandbox_config(sandbox, str(folder / "rootfs"), files, parent)


def remove(place: Place, sandbox: Sandbox) -> None:
    """Nothing is left of its files and its namespace; may be repeated."""
    unpin(place.folder / "net" / sandbox.id)
    bundle_of(place, sandbox).remove()


def dial(sandbox: Sandbox, port: int) -> socket.socket:
    """A port on its loopback. FAILED_PRECONDITION once it is stopped, UNAVAILABLE where nobody
    listens."""
    if sandbox.state is not SandboxState.READY:
        raise Refused(Code.FAILED_PRECONDITION, f"sandbox {sandbox.id} is stopped")
    errors = []
    for address in _LOOPBACK:
        try:
            with syscalls.inside_path(sandbox.netns):
                connection = socket.create_connection((address, port), _DIAL_S)
        except (OSError, OverflowError) as error:
            errors.append(f"{address}: {error}")
            continue
        connection.settimeout(None)
        return connection
    raise Refused(Code.UNAVAILABLE, f"port {port} of the pod: {', '.join(errors)}")


def _resolver(dns: pb.DNSConfig) -> str:
    """resolv.conf(5): as the pod has it, or the node's."""
    if not (dns.servers or dns.searches or dns.options):
        try:
            return Path(_HOST_RESOLVER).read_text()
        except OSError:
            return ""
    lines = [f"nameserver {server}" for server in dns.servers]
    for word, values in (("search", dns.searches), ("options", dns.options)):
        lines += [f"{word} {' '.join(values)}"] if values else []
    return "\n".join(lines) + "\n"
