"""A rig's restart, kill and reboot as commands, for a suite that runs in another process."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.live.rigs.containerd_rig import ContainerdRig

__all__ = ["Hooks", "acts_of", "target_file"]

_CALL = """
import socket, sys
with socket.socket(socket.AF_UNIX) as door:
    door.connect(sys.argv[1])
    door.sendall(sys.argv[2].encode() + b"\\n")
    said = door.makefile().read()
sys.exit(said or 0)
"""


class Hooks:
    """Does what is asked for by name on a socket, one thing after the other; a context manager."""

    def __init__(self, path: Path, acts: Mapping[str, Callable[[], object]]) -> None:
        self._path, self._acts = path, acts
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(path))
        self._door.listen()
        self._thread = threading.Thread(target=self._serve)

    def commands(self) -> dict[str, list[str]]:
        """The command of each act."""
        return {name: [sys.executable, "-c", _CALL, str(self._path), name] for name in self._acts}

    def _serve(self) -> None:
        while True:
            asker, _ = self._door.accept()
            with asker:
                name = asker.makefile().readline().strip()
                if not name:
                    return
                try:
                    self._acts[name]()
                except Exception as error:  # whoever asked reads it and fails
                    import traceback

                    traceback.print_exc()
                    asker.sendall(f"{type(error).__name__}: {error}".encode())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(str(self._path))
            door.sendall(b"\n")
        self._thread.join()
        self._door.close()


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


def acts_of(rig: ContainerdRig) -> dict[str, Callable[[], object]]:
    """What can be asked of a rig."""
    return {"restart": rig.restart, "kill": rig.kill, "reboot": rig.reboot}
