"""The machine that a kubelet sees: NUMA nodes, boot, addresses; all in its mount namespace only."""

from __future__ import annotations

import os
import shutil
import socket
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from refimpl.deviceplugin import illusion
from refimpl.node.choices import CPUS_PER_NODE

__all__ = ["Machine"]

_NODES, _ONLINE = "/sys/devices/system/node", "/sys/devices/system/cpu/online"
_BOOT = "/proc/sys/kernel/random/boot_id"
_LOGS = "/var/log"
# What kubelet wants them to be; it would set them for the whole machine.
_SYSCTLS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
# $1 is mounted over $2 and so on, up to --; then comes the command.
_SCRIPT = """
set -e
while [ "$1" != -- ]; do
    mount --bind "$1" "$2"
    shift 2
done
shift
exec "$@"
"""


class Machine:
    """Files below `folder` that stand for those of the machine. Nobody but the program that `words`
    starts sees them; the kernel drops the mounts with its last process."""

    def __init__(self, folder: Path, node: str) -> None:
        self._folder = folder
        self._over: dict[str, Path] = {}
        (folder / "logs").mkdir(parents=True)
        self._over[_LOGS] = folder / "logs"
        for name, value in _SYSCTLS.items():
            self._place(f"/proc/sys/{name}", value)
        # Else kubelet asks a name server for its own name, which may take ten seconds.
        known = Path("/etc/hosts").read_text() if os.path.exists("/etc/hosts") else ""
        self._place("/etc/hosts", f"{known}\n{_address()} {node}\n")
        self.reboot()

    @staticmethod
    def has_nodes() -> bool:
        """Whether there is a place for NUMA nodes, which a kernel without NUMA lacks."""
        return os.path.isdir(_NODES)

    def reboot(self) -> None:
        """From now on it has another boot id."""
        self._place(_BOOT, f"{uuid.uuid4()}\n")

    def arrange(self, nodes: Mapping[int, Sequence[int]]) -> None:
        """NUMA nodes with their distances, each with `CPUS_PER_NODE` cores and an equal share of
        the memory."""
        below = self._folder / "nodes"
        shutil.rmtree(below, ignore_errors=True)
        memory_kb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024 // len(nodes)
        for rank, (node, distances) in enumerate(nodes.items()):
            inside = below / f"node{node}"
            (inside / "hugepages").mkdir(parents=True)
            (inside / "meminfo").write_text(f"Node {node} MemTotal: {memory_kb} kB\n")
            (inside / "distance").write_text(" ".join(map(str, distances)) + "\n")
            first = rank * CPUS_PER_NODE
            for cpu in range(first, first + CPUS_PER_NODE):
                topology = inside / f"cpu{cpu}" / "topology"
                topology.mkdir(parents=True)
                (topology / "core_id").write_text(f"{cpu}\n")
                (topology / "physical_package_id").write_text(f"{rank}\n")
        self._over[_NODES] = below
        self._place(_ONLINE, f"0-{len(nodes) * CPUS_PER_NODE - 1}\n")

    def words(self, root: Path, command: Sequence[str]) -> list[str]:
        """What to run instead of the command; `root` is /var/lib/kubelet to it."""
        pairs = [(str(file), target) for target, file in self._over.items()]
        mounts = [word for pair in pairs if os.path.exists(pair[1]) for word in pair]
        return illusion.words(root, ["sh", "-c", _SCRIPT, "sh", *mounts, "--", *command])

    def _place(self, target: str, text: str) -> None:
        file = self._folder / target.strip("/").replace("/", "-")
        file.write_text(text)
        self._over[target] = file


def _address() -> str:
    """An address of this machine that is not loopback's, as kubelet takes no other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))  # a route is looked up, nothing is sent
        except OSError:
            return "127.0.0.1"
        address: str = asking.getsockname()[0]
        return address
