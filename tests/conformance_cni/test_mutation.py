"""What CNI mutants are made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.cni.mutation import (
    DocumentMutant,
    PluginMutant,
    document,
    edited,
    error,
    result,
    verb,
)
from conformance.engine.mutants import ANY, GONE, Bend
from refimpl.cni.execute import Outcome, Request

REFUSED = Outcome(1, b'{"cniVersion": "1.0.0", "code": 7, "msg": "no", "details": "why"}')
ADDED = Outcome(0, b'{"cniVersion": "1.0.0", "ips": [{"address": "10.0.0.2/16", "interface": 0}]}')


def told(bend: Bend, outcome: Outcome, name: str = "ADD") -> Any:
    """What is printed by a plugin that is run through the bend."""
    ended: Outcome = bend(PluginMutant(), lambda *_: outcome, Request(name, {}, b"{}"), None)
    assert ended.stdout_bytes in (0, len(ended.stdout))
    assert ended.status == outcome.status
    return ended.document


def test_the_result_of_a_success_is_changed() -> None:
    """At a path, or by a function; that of a failure is none."""
    assert told(result("ips.interface", GONE), ADDED)["ips"] == [{"address": "10.0.0.2/16"}]
    assert told(result("ips.interface", lambda index: index + 1), ADDED)["ips"][0]["interface"] == 1
    assert told(edited(lambda reply: reply.clear()), ADDED) == {}
    assert told(result("msg", "yes"), REFUSED) == REFUSED.document
    assert told(result("ips", [], when=verb("DEL")), ADDED) == ADDED.document
    assert told(result("ips", [], when=verb("DEL")), ADDED, "DEL")["ips"] == []


def test_the_error_of_a_failure_is_changed() -> None:
    """One of that code, or any."""
    assert told(error(7, code=999, details=GONE), REFUSED) == {
        "cniVersion": "1.0.0",
        "code": 999,
        "msg": "no",
    }
    assert told(error(ANY, msg=""), REFUSED)["msg"] == ""
    assert told(error(6, code=999), REFUSED) == REFUSED.document
    assert told(error(ANY, code=999), ADDED) == ADDED.document


def test_the_document_of_a_request_is_changed() -> None:
    """The plugin sees another one."""
    request = Request("ADD", {}, b'{"name": "n", "runtimeConfig": {"mac": "m"}}')
    for bend, expected in (
        (document("runtimeConfig", GONE), {"name": "n"}),
        (document("runtimeConfig.mac", str.upper), {"name": "n", "runtimeConfig": {"mac": "M"}}),
        (document("name", "o", when=verb("DEL")), json.loads(request.stdin)),
    ):
        seen: Request = bend(PluginMutant(), lambda asked, _host: asked, request, None)
        assert json.loads(seen.stdin) == expected


class Misplaces(DocumentMutant):
    """One of each kind of mistake."""

    file = "a.conf"
    puts = {"name": "m", "ipam.ranges.0.gateway": GONE}  # noqa: RUF012
    renames = {"b.conf": "c.conf"}  # noqa: RUF012
    modes = {"../bin/x": 0o600}  # noqa: RUF012


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory of two documents, beside one of a plugin."""
    for name in ("net.d/a.conf", "net.d/b.conf", "bin/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"name": "n", "ipam": {"ranges": [{"gateway": "g"}]}}')
    return tmp_path


def test_a_document_gets_its_mistake(folder: Path) -> None:
    """In its text, its name and its mode."""
    Misplaces().break_(folder / "net.d")
    broken = json.loads((folder / "net.d" / "a.conf").read_text())
    assert broken == {"name": "m", "ipam": {"ranges": [{}]}}
    assert sorted(path.name for path in (folder / "net.d").iterdir()) == ["a.conf", "c.conf"]
    assert (folder / "bin" / "x").stat().st_mode & 0o777 == 0o600
