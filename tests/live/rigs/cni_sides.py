"""cnitool and our runtime on the same network, and the plugin that records what both ask of it."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import attrs

from refimpl.cni import config
from refimpl.cni.config import ConfigError
from refimpl.cni.contract import CniError
from refimpl.cni.runtime import Attachment, CacheError, Runtime, Trouble
from refimpl.cni.runtime.cache import DEFAULT

RECORDER = """#!/bin/sh
here="${0%/*}/.."
name="${0##*/}"
i=0
while [ -e "$here/log/$i.env" ]; do i=$((i + 1)); done
env -0 > "$here/log/$i.env"
cat > "$here/log/$i.stdin"
echo "$name $CNI_COMMAND" > "$here/log/$i.name"
cat "$here/answers/$name.$CNI_COMMAND" 2> /dev/null
exit "$(cat "$here/answers/$name.$CNI_COMMAND.status" 2> /dev/null || echo 0)"
"""
FAILURES = (CniError, Trouble, ConfigError, CacheError, ExceptionGroup)


@attrs.define
class Side:
    """One of the two runtimes, on a network of the folder `net`."""

    base: Path
    cnitool: Path
    netns: str
    env: dict[str, str]

    @property
    def attachment(self) -> Attachment:
        """What cnitool makes of its environment and the namespace."""
        digest = hashlib.sha512(self.netns.encode()).hexdigest()[:20]
        pairs = [tuple(each.split("=")) for each in self.env.get("CNI_ARGS", "").split(";") if each]
        capabilities = json.loads(self.env.get("CAP_ARGS", "{}"))
        return Attachment(f"cnitool-{digest}", self.netns, "eth0", pairs, capabilities)

    def tool(self, verb: str, network: str) -> tuple[bool, str]:
        """cnitool; whether it went well, and what it printed."""
        done = subprocess.run(
            [self.cnitool, verb, network, self.netns],
            env=self.env,
            cwd="/",
            capture_output=True,
            check=False,
        )
        return done.returncode == 0, (done.stdout or done.stderr).decode(errors="replace")

    def ours(self, verb: str, file: str) -> tuple[bool, str]:
        """Our runtime; whether it went well, and the error."""
        runtime = Runtime(
            self.env["CNI_PATH"].split(":"), DEFAULT, profile="libcni", environ=self.env
        )
        try:
            network = config.load(self.base / "net" / file)
            verbs: dict[str, Callable[[], object]] = {
                "add": lambda: runtime.add(network, self.attachment),
                "check": lambda: runtime.check(network, self.attachment),
                "del": lambda: runtime.delete(network, self.attachment),
                "status": lambda: runtime.status(network),
                "gc": lambda: runtime.gc(network),
            }
            return True, str(verbs[verb]())
        except FAILURES as error:
            return False, str(error)

    def recorded(self) -> list[tuple[str, dict[str, str], bytes]]:
        """What the recorder saw since the last time: name, environment, stdin."""
        log = self.base / "log"
        execs = []
        for index in range(len(list(log.glob("*.env")))):
            env = (log / f"{index}.env").read_bytes().decode().split("\0")
            pairs = dict(each.split("=", 1) for each in env if each)
            name = (log / f"{index}.name").read_text().strip()
            execs.append((name, pairs, (log / f"{index}.stdin").read_bytes()))
        for path in log.iterdir():
            path.unlink()
        return execs


def kept() -> dict[str, bytes]:
    """The files of /var/lib/cni by name."""
    return {path.name: path.read_bytes() for path in DEFAULT.glob("results/*")}
