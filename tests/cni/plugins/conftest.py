"""A machine in a folder with every fake plugin on it, run as processes or as functions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from refimpl.cni.format.errors import CniError
from refimpl.cni.host.simulated import Simulated
from refimpl.cni.plugins import configure, install, main, records, settings_of

PLUGINS = {
    "bridge": "interface",
    "host-local": "hostlocal",
    "portmap": "chained",
    "meta": "delegating",
    "rec": "recorder",
}


class Answer(NamedTuple):
    status: int
    stdout: bytes
    stderr: bytes

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.stdout)

    @property
    def code(self) -> int:
        """The code of the error, 0 for a success."""
        return self.document["code"] if self.status else 0


class Rig:
    """`run` answers a call by a process, `call` in this one; `fault` breaks a plugin."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.host = Simulated(folder / "host")
        self.netns = self.host.make_netns("one")
        self.store = folder / "store"
        self.journal = folder / "journal.jsonl"
        for name, kind in PLUGINS.items():
            shared = {"kernel": self.host.kernel, "journal": self.journal}
            install(self.bin, name, kind, **shared)

    def fault(self, plugin: str, do: str, verb: str = "*", **arguments: Any) -> None:
        rules = [*settings_of(self.bin / plugin).get("faults", []), {"do": do, "verb": verb}]
        rules[-1].update(arguments)
        configure(self.bin / plugin, faults=rules)

    def env(self, verb: str, **changes: str | None) -> dict[str, str]:
        environ = {
            "CNI_COMMAND": verb,
            "CNI_CONTAINERID": "c1",
            "CNI_NETNS": self.netns,
            "CNI_IFNAME": "eth0",
            "CNI_PATH": str(self.bin),
        }
        if verb in ("GC", "STATUS", "VERSION"):
            environ = {"CNI_COMMAND": verb, "CNI_PATH": str(self.bin)}
        environ.update({k: v for k, v in changes.items() if v is not None})
        return {k: v for k, v in environ.items() if k not in changes or changes[k] is not None}

    def conf(self, version: str = "1.1.0", **changes: Any) -> dict[str, Any]:
        ipam = {
            "type": "host-local",
            "dataDir": str(self.store),
            "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]],
            "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
        }
        return {"cniVersion": version, "name": "net", "type": "x", "ipam": ipam, **changes}

    def run(
        self, plugin: str, verb: str, conf: dict[str, Any] | bytes, **env: str | None
    ) -> Answer:
        done = subprocess.run(
            [self.bin / plugin],
            input=conf if isinstance(conf, bytes) else json.dumps(conf).encode(),
            env=self.env(verb, **env),
            capture_output=True,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def call(
        self, plugin: str, verb: str, conf: dict[str, Any] | bytes, **env: str | None
    ) -> Answer:
        data = conf if isinstance(conf, bytes) else json.dumps(conf).encode()
        return Answer(*self._main(plugin, self.env(verb, **env), data))

    def _main(self, name: str, environ: Any, stdin: bytes) -> tuple[int, bytes, bytes]:
        if not (self.bin / name).exists():
            raise CniError(102, f"there is no plugin {name}")
        settings = settings_of(self.bin / name)
        return main(settings["kind"], environ, stdin, settings, exec_delegate=self._main)

    def add(self, conf: dict[str, Any] | None = None, **env: str | None) -> dict[str, Any]:
        """The result of a good ADD of the interface plugin."""
        answer = self.call("bridge", "ADD", conf or self.conf(), **env)
        assert answer.status == 0, answer
        return answer.document

    def reserved(self, network: str = "net") -> dict[str, str]:
        """Address to "id/ifname" as the store of a network holds them."""
        folder = self.store / network
        files = sorted(folder.iterdir()) if folder.exists() else []
        return {
            file.name: file.read_bytes().decode().replace("\r\n", "/")
            for file in files
            if file.is_file() and file.name[0].isdigit() | file.name.startswith("fd")
        }

    def calls(self, plugin: str) -> list[dict[str, Any]]:
        return [entry for entry in records(self.journal) if entry["plugin"] == plugin]

    def verbs(self, plugin: str) -> list[str]:
        return [entry["verb"] for entry in self.calls(plugin)]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


class Story:
    """A rig and the plugin that is broken in the second telling."""

    def __init__(self, rig, plugin):
        self.rig, self.plugin = rig, plugin
        self.conf = rig.conf()

    def do(self, verb, plugin=None, conf=None, **env):
        changes = env.pop("change", {})
        return self.rig.call(plugin or self.plugin, verb, {**(conf or self.conf), **changes}, **env)

    def code(self, verb, plugin=None, **env):
        return self.do(verb, plugin, **env).code

    def added(self, **env):
        return self.do("ADD", **env).document

    def chain(self, **change):
        previous = self.rig.add()
        conf = {"cniVersion": "1.1.0", "name": "net", "prevResult": previous, **change}
        return self.rig.call("portmap", "ADD", conf)


@pytest.fixture
def tell_twice(rig: Rig) -> Callable[..., tuple[Any, Any]]:
    """What comes of a story on a healthy rig, and on one whose plugin has the fault."""

    def tell(plugin: str, knob: str, arguments: dict[str, Any], story: Any) -> tuple[Any, Any]:
        twin = Rig(rig.folder / "broken")
        healthy = story(Story(rig, plugin))
        twin.fault(plugin, knob, **arguments)
        return healthy, story(Story(twin, plugin))

    return tell
