"""A made-up run with every outcome in it, hostile texts, and a toy interface with its suite."""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.engine import events, run
from conformance.engine.events import Breach, CaseDone, End, Event, Run
from conformance.engine.interfaces import INTERFACES
from conformance.engine.judging.session import Listener
from conformance.engine.options import Options

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


def hostile(number: int, outcome: Any = "fail") -> CaseDone:
    """A finding whose every text is an attack on the report that shows it."""
    return found(
        number,
        outcome,
        title=f"rule {HOSTILE}",
        why=HOSTILE,
        message=HOSTILE,
        wanted=HOSTILE,
        got=f"{HOSTILE} {'very long ' * 5000}",
        also=[Breach(rule=HOSTILE, wanted=HOSTILE, got=HOSTILE, soft=True)],
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
        found(
            2, "fail", calls=[], reproduce="", wanted="", got="", message="target was lost: killed"
        ),
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
    """Makes a stream. `end`: an exit code, or None for a killed run; `only`: cases to take."""

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
        started = Run(
            interface=interface,
            target="hostpath 1.17.0 at unix:///run/csi/csi.sock",
            revision="csi-1.13",
            suite="0.1.0",
            seed=4021,
            started=1_760_000_000.25,
            config=config or {"level": "may"},
        )
        made: Stream = [started, *judged]
        if end is not None:
            counts = events.counts(judged)
            made.append(End(counts=counts, exit_code=end, duration_s=83.4, message=message))
        return made

    return make


@pytest.fixture(scope="session")
def case() -> Callable[..., CaseDone]:
    """Makes a single case: `case(1, "fail")`, with findings unless it passed or was skipped."""

    def make(number: int, outcome: str = "pass", level: str = "MUST", **more: Any) -> CaseDone:
        kind = done if outcome in ("pass", "skip", "xpass") else found
        return kind(number, outcome, level, **more)

    return make


_TARGET = '''
    """The toy target."""

    import msgspec

    from conformance.engine.targets.target import Loss
    from refimpl.wire.client import Unreachable


    class Settings(msgspec.Struct, forbid_unknown_fields=True):
        told: list[str] = []


    class Target:
        interface, name, version = "toy", "toy driver", "1.5"
        reason, revived, cause, secrets = "", False, "", ()

        def __init__(self, resolved):
            self.made, self.closed = [], False
            self.revision = resolved.judged_by("1")
            self.only_warns = resolved.settings.told

        def mark(self):
            return len(self.made)

        def calls(self, mark):
            return self.made[mark:]

        def reproduce(self, calls):
            return f"play {calls[-1].rpc}"

        def lost(self, *, failed=True):
            return Loss(self.reason, self.revived, self.cause) if self.reason else None

        def close(self):
            pass


    def open_target(resolved):
        if resolved.address.endswith("nowhere"):
            raise Unreachable("nowhere: there is no such file")
        return Target(resolved)
'''

_HEADER = """
    import pytest
    from conformance.engine.case import case
    from conformance.engine.judging.session import judge_of
    from conformance.engine.verdict import Broken, expect, expect_status, should, together
    from refimpl.wire.status import Code, Refused


    @pytest.fixture
    def toy(request):
        return judge_of(request.config).target("toy")


    class Need:
        def unmet(self, target):
            return "toys are off"
"""


_ONE_OF_EACH = """
    @case("TOY-A-001", "toys 1")
    def test_a_good_toy(toy):
        "It matters."

    @case("TOY-A-002", "toys 2")
    def test_a_broken_toy(toy):
        expect(False, "toys are whole", wanted="a wheel", got="no wheel")

    @case("TOY-A-003", "toys 3")
    def test_an_ugly_toy(toy):
        expect(False, "toys are pretty", wanted="red", got="grey")

    @case("TOY-A-004", "toys 4", needs=[Need()])
    def test_a_missing_toy(toy):
        raise AssertionError("never runs")

    @case("TOY-A-005", "toys 5")
    def test_a_half_good_toy(toy):
        should(False, "toys are new", wanted="new", got="old")

    @case("TOY-A-006", "toys 6")
    def test_a_refused_toy(toy):
        raise Refused(Code.NOT_FOUND, "no such toy")
"""


class Toy:
    """Runs a suite written in the test; `events` are what it told."""

    ONE_OF_EACH = _ONE_OF_EACH

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[Event] = []

    def run(
        self,
        cases: str,
        *,
        extra: tuple[str, ...] = (),
        workers: str = "0",
        first: bool = False,
        **chosen: object,
    ) -> int:
        """The exit code of a run of these cases."""
        text = textwrap.dedent(_HEADER) + textwrap.dedent(cases)
        (self.folder / "cases" / "test_toys.py").write_text(text)
        options = Options(interface="toy", **chosen)  # type: ignore[arg-type]
        return run.run(
            options,
            workers=workers,
            first=first,
            extra=extra,
            plugins=[Listener(self.events.append)],
        )

    @property
    def cases(self) -> dict[str, CaseDone]:
        """What became of each case."""
        return {event.id: event for event in self.events if isinstance(event, CaseDone)}

    @property
    def outcomes(self) -> dict[str, str]:
        """The outcome of each case."""
        return {id: done.outcome for id, done in self.cases.items()}

    @property
    def start(self) -> Run:
        """The run record."""
        return next(event for event in self.events if isinstance(event, Run))

    @property
    def end(self) -> End:
        """The end record."""
        return next(event for event in self.events if isinstance(event, End))


_CONFTEST = """
    # Makes the interface known in workers, too.
    import importlib
    import sys
    from pathlib import Path

    from conformance.engine.interfaces import INTERFACES

    folder = Path(__file__).parent
    if str(folder.parent) not in sys.path:
        sys.path.insert(0, str(folder.parent))
    INTERFACES["toy"] = importlib.import_module(f"{folder.name}.interface").TOY
"""

_INTERFACE = '''
    """The record of the toy interface."""

    from pathlib import Path

    from conformance.engine.interface import FAKES, Interface, Option, Scheme

    EVERY = ("TOY-*",)
    TOY = Interface(
        name="toy",
        package=__package__,
        title="toys",
        heading="Toy",
        subject="a toy",
        prefixes=("TOY",),
        catalogues=(str(Path(__file__).with_name("rows")),),
        family="toy",
        revisions=("1", "2"),
        targets={name: Scheme(shown=name, judges=EVERY) for name in (*FAKES, "unix")},
        settings=f"{__package__}.target:Settings",
        opener=f"{__package__}.target:open_target",
        options=(Option(flag="toy-told", field="told", text="Ids that only warn.", many=True),),
    )
'''

_ROWS = [{"id": f"TOY-A-{number:03}", "level": "M"} for number in (1, 2, 4, 5, 6, 7)]
_ROWS += [{"id": "TOY-A-003", "level": "S"}, {"id": "TOY-A-008", "level": "S"}]


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    """A toy suite of its own package."""
    package = f"toys_{abs(hash(tmp_path))}"
    folder = tmp_path / package
    (folder / "cases").mkdir(parents=True)
    (folder / "cases" / "__init__.py").write_text('"""Cases."""\n')
    (folder / "rows.json").write_text(json.dumps(_ROWS))
    (folder / "interface.py").write_text(textwrap.dedent(_INTERFACE).lstrip())
    (folder / "__init__.py").write_text('"""A suite."""\n')
    (folder / "target.py").write_text(textwrap.dedent(_TARGET).lstrip())
    (folder / "conftest.py").write_text(textwrap.dedent(_CONFTEST).lstrip())
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # the suites of a folder change
    monkeypatch.setitem(INTERFACES, "toy", importlib.import_module(f"{package}.interface").TOY)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # a run has workers of its own
    return Toy(folder)
