"""The `cdi` command line tool of the Go project, used through its sub-commands.

It reads /etc/cdi and /var/run/cdi, whatever --spec-dirs says, prints devices only from there, and
injects in the order of names what matches them. So each act is a process in a mount namespace of
its own, where those two directories are the case's.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from conformance.cdi.implementation import CONFIG, INJECT, LOAD
from conformance.engine.targets.lines import ANSWER_S, Gone, Message
from conformance.engine.targets.target import Loss
from conformance.engine.verdict import timeout
from refimpl.wire.client import Unreachable

_PLACES = ("/etc/cdi", "/var/run/cdi")
_BIND = (
    "mount -t tmpfs none /etc && mount -t tmpfs none /var/run && mkdir /etc/cdi /var/run/cdi && "
    'mount --bind "$1" /etc/cdi && mount --bind "$2" /var/run/cdi && shift 2 && '
)
_LOAD = '"$1" validate; code=$?; [ $code -lt 2 ] || exit $code; echo ---; "$1" devices'
_INJECT = 'exec "$@"'
_DEVICE = re.compile(r"\s*\d+\. (\S+)$", re.MULTILINE)
_FILE = re.compile(r"Spec file (.*):$")


class Tool:
    """Raises Unreachable where there is no such program, or no namespace for it."""

    version, features = "", frozenset({LOAD, INJECT, CONFIG})

    def __init__(self, path: Path) -> None:
        if not os.access(path, os.X_OK) or not path.is_file():
            raise Unreachable(f"{path}: no program; exec:PATH names the cdi tool of the Go project")
        self.path, self.name = path.absolute(), path.name
        self._folder = Path(tempfile.mkdtemp(prefix="refimpl-"))
        (self._folder / "empty").mkdir()
        self._opened: dict[int, list[str]] = {}
        self._died = ""
        try:
            self._run(_LOAD, [], str(self.path))
        except (Gone, OSError) as error:
            self.close()
            raise Unreachable(f"{path}: {error}") from error

    def answer(self, act: str, request: Message) -> Message:
        """The reply to one act, each a process or none; raises Gone."""
        try:
            if act == "open":
                self._opened[request["cache"]] = request["directories"]
            elif act == "load":
                return self._load(self._opened[request["cache"]])
            elif act == "inject":
                return self._inject(self._opened[request["cache"]], request)
        except Gone as error:
            self._died = str(error)
            raise
        return {}

    def resident(self) -> int:
        """0: it is gone after each act."""
        return 0

    def lost(self) -> Loss | None:
        """How a process of it died since the last look; the next act has a new one."""
        died, self._died = self._died, ""
        return Loss(died, revived=True) if died else None

    def repeat(self, opened: Message | None, act: str, request: Message) -> str:
        """The sub-command, in the namespace that it takes."""
        script = _BIND + (_INJECT if act == "inject" else _LOAD)
        words: list[str] = [str(self.path)]
        if act == "inject":
            words += ["inject", "-o", "json", "config.json", *request["devices"]]
        return shlex.join(self._command(script, (opened or {}).get("directories", []), *words))

    def close(self) -> None:
        """Removes the folder of its configs."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _load(self, directories: list[str]) -> Message:
        printed, _, listed = self._run(_LOAD, directories, str(self.path)).partition("\n---\n")
        errors: dict[str, list[str]] = {}
        about: list[str] = []
        for line in printed.splitlines():
            if file := _FILE.match(line):
                about = errors.setdefault(_real(file[1], directories), [])
            elif about or errors:
                about.append(line.strip())
        return {"devices": _DEVICE.findall(listed), "errors": errors}

    def _inject(self, directories: list[str], request: Message) -> Message:
        config = self._folder / "config.json"
        config.write_text(json.dumps(request["config"]))
        words = [str(self.path), "inject", "-o", "json", str(config), *request["devices"]]
        printed = self._run(_INJECT, directories, *words)
        head, _, text = printed.partition("Updated OCI Spec:\n")
        return {"config": json.loads(text)} if text else {"error": head.strip()}

    def _run(self, script: str, directories: list[str], *words: str) -> str:
        """stdout; raises Gone where the tool panicked or did not end."""
        command = self._command(_BIND + script, directories, *words)
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=timeout(ANSWER_S), check=False
            )
        except subprocess.TimeoutExpired as error:
            raise Gone(f"no end within {error.timeout:g} s") from error
        errors = " ".join(done.stderr.split())
        if done.returncode > 1 or (errors and not done.stdout):
            raise Gone(f"exit {done.returncode}; {errors[:300]}")
        return done.stdout

    def _command(self, script: str, directories: list[str], *words: str) -> list[str]:
        empty = str(self._folder / "empty")
        places = [*directories, empty, empty][: len(_PLACES)]
        root = [] if os.geteuid() == 0 else ["--map-root-user"]
        return ["unshare", "--mount", *root, "sh", "-c", script, "sh", *places, *words]


def _real(path: str, directories: list[str]) -> str:
    for place, directory in zip(_PLACES, directories, strict=False):
        if path == place or path.startswith(place + "/"):
            return directory + path.removeprefix(place)
    return path
