"""A made-up run with every outcome in it, and a target that says hostile things."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone, End, Event, Run

HOSTILE = (
    "<script>alert('x')</script> & \"quoted\" | `tick` ```fence``` *bold* [link](http://x.test) "
    "@everyone \x1b[31mred\x1b[0m \x1b]0;title\x07 nul\x00 bell\x07 \u202etxet desrever\u202c "
    "日本語 ärger 💥 \ud800 </details></table></pre> {{ 7 * 7 }}\n## heading\r\n- item"
)
SECTIONS = (
    ("6.2 CreateVolume / DeleteVolume", "CTRL", "CSI 1.13 CreateVolume"),
    ("6.4 Lists, capacity, GetVolume, health", "LV", "CSI 1.13 ListVolumes"),
    ("6.7 Node service", "NPUB", "CSI 1.13 NodePublishVolume"),
)
RULES = (
    "a repeated create returns the same volume",
    "a name longer than 128 bytes is accepted or refused with INVALID_ARGUMENT",
    "an unknown volume is NOT_FOUND",
    "deleting a volume that is gone succeeds",
    "a page that was asked for with a token starts where the last one ended",
)
Stream = list[Event]


def call(rpc: str, code: str, message: str = "", **more: Any) -> dict[str, Any]:
    """A journal entry as the stream carries it."""
    return {
        "seq": 41,
        "time": 1_760_000_000.0,
        "side": "client",
        "method": f"/csi.v1.Controller/{rpc}",
        "peer": "unix:/run/csi/csi.sock",
        "deadline_s": 60.0,
        "requests": [more.get("request", {"name": "refimpl-7f3a-pvc-1"})],
        "replies": [] if message else [more.get("reply", {"volume": {"volume_id": "vol-1"}})],
        "code": code,
        "message": message,
        "fault": more.get("fault"),
        "duration_s": 0.0123,
    }


def done(number: int, outcome: Any = "pass", level: str = "MUST", **more: Any) -> CaseDone:
    """A case of one of three sections; `more` replaces any of its fields."""
    section, letters, source = SECTIONS[number % 3]
    fields: dict[str, Any] = {
        "id": f"CSI-{letters}-{number:03}",
        "level": level,
        "outcome": outcome,
        "duration_s": 0.0042,
        "title": RULES[number % 5],
        "why": "An orchestrator that lost an answer asks again.\nA second volume would leak.",
        "section": section,
        "source": source,
        "location": f"csi/test_volumes.py:{number}",
    }
    return CaseDone(**fields | more)


def found(number: int, outcome: Any, level: str = "MUST", **more: Any) -> CaseDone:
    """A case with a finding: wanted and got, the calls, a line to reproduce."""
    capability = {"access_mode": {"mode": "SINGLE_NODE_WRITER"}, "mount": {"fs_type": "ext4"}}
    request = {
        "name": "refimpl-7f3a-pvc-1",
        "capacity_range": {"required_bytes": 1_073_741_824},
        "volume_capabilities": [capability],
        "secrets": {"token": "***"},
    }
    reply = {"volume": {"volume_id": "vol-2", "capacity_bytes": 1_073_741_824}}
    fields: dict[str, Any] = {
        "message": "the same name and parameters give the volume that is there",
        "wanted": "volume_id vol-1",
        "got": "volume_id vol-2",
        "calls": [
            call("CreateVolume", "OK", request=request),
            call("CreateVolume", "OK", request=request, reply=reply),
            call("DeleteVolume", "INVALID_ARGUMENT", "volume id is empty", request={}),
        ],
        "reproduce": "grpcurl -plaintext -import-path site-packages -proto csi.proto"
        """ -d '{"name": "refimpl-7f3a-pvc-1"}' -unix /run/csi/csi.sock """
        "csi.v1.Controller/CreateVolume",
    }
    return done(number, outcome, level, **fields | more)


def hostile(number: int) -> CaseDone:
    """A finding whose every text is an attack on the report that shows it."""
    return found(
        number,
        "fail",
        title=f"rule {HOSTILE}",
        why=HOSTILE,
        message=HOSTILE,
        wanted=HOSTILE,
        got=f"{HOSTILE} {'very long ' * 5000}",
        source=HOSTILE,
        section=f"9.9 {HOSTILE}",
        calls=[
            call("CreateVolume", "INTERNAL", HOSTILE, request={"name": HOSTILE}, fault="r1"),
            call("ListVolumes", "OK", reply={"entries": [{"volume_id": HOSTILE}] * 200}),
        ],
        reproduce=f"grpcurl -d '{HOSTILE}' -unix /run/csi/csi.sock csi.v1.Controller/CreateVolume",
    )


def cases(passed: int) -> list[CaseDone]:
    """Every outcome, and as many passes as asked for."""
    brief = [{"rpc": "CreateVolume", "code": "OK"}]
    return [
        *(done(number, calls=brief) for number in range(100, 100 + passed)),
        *(done(number, level="SHOULD", calls=brief) for number in range(400, 406)),
        found(1, "fail"),
        found(2, "fail", message="target was lost", calls=[], reproduce="", wanted="", got=""),
        found(5, "fail", message="an id that is\nmore than one line long\nis told whole"),
        hostile(6),
        found(7, "error", message="KeyError: 'volume'", wanted="", got=""),
        done(8, "xpass", message="expected to fail (issue 12), but it passes; remove the entry"),
        found(9, "warn", "SHOULD", message="an error tells which field was wrong"),
        found(10, "warn", message="messages name the volume"),
        found(11, "xfail", message="known: the lock is lost on restart (rule 4)"),
        done(12, "skip", message="CREATE_DELETE_SNAPSHOT is not advertised"),
        done(13, "skip", message="CREATE_DELETE_SNAPSHOT is not advertised"),
        done(14, "skip", "MAY", message="the target is on another host, and mounts cannot be seen"),
    ]


@pytest.fixture(scope="session")
def sample() -> Callable[..., Stream]:
    """Makes a stream. `end`: an exit code, or None for a killed run; `only`: its cases."""

    def make(
        *,
        end: int | None = 3,
        message: str = "",
        passed: int = 200,
        only: list[CaseDone] | None = None,
        config: dict[str, Any] | None = None,
        interface: str = "csi",
    ) -> Stream:
        judged = cases(passed) if only is None else only
        run = Run(
            interface=interface,
            target="hostpath 1.17.0 at unix:///run/csi/csi.sock",
            revision="csi-1.13",
            suite="0.1.0",
            seed=4021,
            started=1_760_000_000.25,
            config=config or {"level": "may"},
        )
        made: Stream = [run, *judged]
        if end is not None:
            counts = events.counts(judged)
            made.append(End(counts=counts, exit_code=end, duration_s=83.4, message=message))
        return made

    return make


@pytest.fixture(scope="session")
def case() -> Callable[..., CaseDone]:
    """Makes a single case: `case(1, "fail")`, with a finding where its outcome has one."""

    def make(number: int, outcome: str = "pass", level: str = "MUST", **more: Any) -> CaseDone:
        kind = done if outcome in ("pass", "skip", "xpass") else found
        return kind(number, outcome, level, **more)

    return make
