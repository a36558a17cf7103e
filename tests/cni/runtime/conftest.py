"""Plugins that are functions of the test: each answers as told and everything asked is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from refimpl.cni import config
from refimpl.cni.config import NetworkList
from refimpl.cni.execute import Outcome, Request
from refimpl.cni.runtime import Attachment, Runtime

RESULT = {
    "cniVersion": "1.1.0",
    "interfaces": [{"name": "eth0", "mac": "02:00:00:00:00:01", "sandbox": "/ns"}],
    "ips": [{"address": "10.1.0.2/24", "gateway": "10.1.0.1", "interface": 0}],
}


@attrs.frozen
class Asked:
    """One exec: which plugin, what it got."""

    plugin: str
    verb: str
    env: Mapping[str, str]
    stdin: bytes

    @property
    def document(self) -> Any:
        """stdin as JSON value."""
        return json.loads(self.stdin)

    @property
    def name(self) -> str:
        """`one ADD`."""
        return f"{self.plugin} {self.verb}"


Answer = Outcome | Mapping[str, Any] | OSError | None


@attrs.define
class Plugins:
    """An executor. answers: "one ADD" -> what it answers, or a list of what it answers in turn.

    Without an answer ADD prints RESULT and everything else succeeds silently.
    """

    folder: Path
    answers: dict[str, Any] = attrs.field(factory=dict)
    asked: list[Asked] = attrs.field(factory=list)
    deadlines: list[float] = attrs.field(factory=list)

    def install(self, *names: str) -> None:
        """Puts files of these names into the folder."""
        for name in names:
            (self.folder / name).touch(0o755)

    def run(self, plugin: str | Path, request: Request, **circumstances: Any) -> Outcome:
        """Notes the call and gives its answer, or raises it."""
        call = Asked(Path(plugin).name, request.verb, request.env, request.stdin)
        self.asked.append(call)
        self.deadlines.append(circumstances["deadline_s"])
        answer = self.answers.get(call.name, RESULT if request.verb == "ADD" else None)
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if callable(answer):
            answer = answer(call)
        if isinstance(answer, OSError):
            raise answer
        if isinstance(answer, Outcome):
            return answer
        return printed(answer)

    @property
    def order(self) -> list[str]:
        """The execs so far: ["one ADD", "two ADD"]."""
        return [each.name for each in self.asked]

    def last(self, name: str) -> Asked:
        """The latest exec called that."""
        return next(each for each in reversed(self.asked) if each.name == name)


def printed(value: Any = None, status: int = 0, **more: Any) -> Outcome:
    """An end with a JSON value, or bytes, on stdout."""
    data = (
        value if isinstance(value, bytes) else b"" if value is None else json.dumps(value).encode()
    )
    return Outcome(status, data, stdout_bytes=more.pop("stdout_bytes", len(data)), **more)


def refused(code: int = 7, msg: str = "no", details: str = "") -> Outcome:
    """A failure with an error object."""
    return printed({"cniVersion": "1.1.0", "code": code, "msg": msg, "details": details}, 1)


@pytest.fixture
def plugins(tmp_path: Path) -> Plugins:
    """Plugins one, two, three in a folder of their own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    executor = Plugins(folder)
    executor.install("one", "two", "three")
    return executor


@pytest.fixture
def runtime(plugins: Plugins, tmp_path: Path) -> Callable[..., Runtime]:
    """A runtime of a profile over the plugins; its cache is `tmp_path / "cache"`."""

    def make(profile: str = "strict", **more: Any) -> Runtime:
        more = {"environ": {"PATH": "/bin", "SECRET": "x"}, "pause": lambda _s: None, **more}
        return Runtime(
            [plugins.folder], tmp_path / "cache", profile=profile, executor=plugins, **more
        )

    return make


@pytest.fixture
def attachment(tmp_path: Path) -> Attachment:
    """Container c1 with a file that stands for its namespace."""
    netns = tmp_path / "ns"
    netns.touch()
    return Attachment("c1", str(netns))


def network(*plugins: str | dict[str, Any], name: str = "net", **members: Any) -> NetworkList:
    """A list of these plugins, version 1.1.0."""
    listed = [{"type": each} if isinstance(each, str) else each for each in plugins]
    value = {"cniVersion": "1.1.0", "name": name, "plugins": listed, **members}
    return config.parse(json.dumps(value).encode())
