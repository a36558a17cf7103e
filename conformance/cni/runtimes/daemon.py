"""The process behind a runtime's socket, and its view of the file system."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from conformance.cni.runtimes.subject import RuntimeRefusal
from conformance.engine.targets.process import peer_of
from refimpl.wire.endpoint import Endpoint

__all__ = ["Daemon"]

# umount looks for itself in /proc, which is that of the daemon's processes.
_LOSE = 'umount -l "$1" && rm -f "$1" && { [ "$2" = nothing ] || : > "$1"; }'


class Daemon:
    """Whoever listens at the endpoint when it is asked for; it may be another one each time."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    @property
    def pid(self) -> int:
        """As this process numbers it. Raises OSError where nobody listens."""
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(self._endpoint.path)
            return peer_of(door)

    def reach(self, path: str) -> Path:
        """A path of its view as this process can open it; /var/run is a link to our /run."""
        inside = path.replace("/var/run/", "/run/", 1) if path.startswith("/var/run/") else path
        return Path(f"/proc/{self.pid}/root{inside}")

    def lose_netns(self, path: str, *, leave: str) -> None:
        """Takes a network namespace away; leave: "nothing", "file". Raises RuntimeRefusal."""
        ns = f"/proc/{self.pid}/ns"
        words = ["nsenter", f"--mount={ns}/mnt", f"--pid={ns}/pid", "--", "sh", "-c", _LOSE, "sh"]
        done = subprocess.run([*words, path, leave], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeRefusal(f"namespace {path} could not be taken away: {done.stderr}")
