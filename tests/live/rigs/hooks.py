"""A rig's restart, kill and reboot as commands, for a suite that runs in another process."""

from __future__ import annotations

import json
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from tests.live.rigs.containerd_rig import ContainerdRig

__all__ = ["Hooks", "actions_of", "target_file"]

_CALL = """
import socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    connection.sendall(sys.argv[2].encode() + b"\\n")
    failure = connection.makefile().read()
sys.exit(failure or 0)
"""


class Hooks:
    """Does what is asked for by name on a socket, one thing after the other; a context manager."""

    def __init__(self, path: Path, actions: Mapping[str, Callable[[], object]]) -> None:
        self._path, self._actions = path, actions
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)

    def commands(self) -> dict[str, list[str]]:
        """The command of each action."""
        return {
            name: [sys.executable, "-c", _CALL, str(self._path), name] for name in self._actions
        }

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                name = connection.makefile().readline().strip()
                if not name:
                    return
                try:
                    self._actions[name]()
                except Exception as error:  # whoever asked reads it and fails
                    traceback.print_exc()
                    connection.sendall(f"{type(error).__name__}: {error}".encode())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self._path))
            connection.sendall(b"\n")
        self._thread.join()
        self._listener.close()


def target_file(
    path: Path, rig: ContainerdRig, hooks: Hooks, conf_dir: Path, bin_dirs: list[Path]
) -> Path:
    """Writes the target file of a rig with its hooks."""
    settings: dict[str, Any] = {
        "conf_dir": str(conf_dir),
        "bin_dir": ":".join(map(str, bin_dirs)),
        "cache_dir": str(rig.cni_state),
        "cgroup_parent": rig.cgroup_parent,
        "hooks": hooks.commands(),
    }
    tables = [f"endpoint = {json.dumps(str(rig.endpoint))}", "[cni]"]
    tables += [f"{key} = {json.dumps(value)}" for key, value in settings.items() if key != "hooks"]
    tables += ["[cni.hooks]"]
    tables += [f"{key} = {json.dumps(value)}" for key, value in settings["hooks"].items()]
    path.write_text("\n".join(tables) + "\n")
    return path


def actions_of(rig: ContainerdRig) -> dict[str, Callable[[], object]]:
    """What can be asked of a rig."""
    return {"restart": rig.restart, "kill": rig.kill, "reboot": rig.reboot}
