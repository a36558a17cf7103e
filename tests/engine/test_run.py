"""A run: options in, exit code out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.engine import cases, events, run
from conformance.engine.events import CaseDone
from conformance.engine.interfaces import INTERFACES
from conformance.engine.judging.session import Listener
from conformance.engine.options import BadOption, Options
from refimpl.csi.fake import FakeDriver
from refimpl.wire.client import Unreachable
from refimpl.wire.faults import Faults

Toy = Any  # the fixture of that name, in conftest.py


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"interface": "csy"}, "csy"),
        ({"level": "musty"}, "use must, should or may"),
        ({"focus": "("}, "--focus"),
        ({"expect": ("nowhere.toml",)}, "nowhere.toml"),
        ({"report_dir": "/dev/null/out"}, "--report-dir"),
        ({"interface": "all", "target": "unix:///x"}, "name one interface"),
        ({"interface": "all", "command": ("driver",)}, "name one interface"),
        ({"target": "fake:nothing"}, "nothing"),
        ({"target": "mutant:Nothing"}, "no mutant of that name"),
        ({"revision": "csi-2.0"}, "csi-1.13"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_runs(wrong: Any, sentence: str) -> None:
    """One sentence for exit code 4."""
    with pytest.raises(BadOption, match=sentence.replace("(", "[(]")):
        run.run(Options(**{"interface": "csi"} | wrong))


@pytest.mark.parametrize(
    ("chosen", "processors", "workers"),
    [
        ({"interface": "all"}, 2, "4"),
        ({"interface": "cri"}, 2, "4"),
        ({"interface": "all"}, 1, "0"),
        ({"interface": "csi"}, 2, "0"),
        ({"interface": "cri", "only": ("CRI-EX-001",)}, 2, "0"),
        ({"interface": "cri", "target": "unix:///x"}, 2, "0"),
        ({"interface": "deviceplugin", "command": ("plugin",)}, 2, "0"),
    ],
)
def test_workers_help_with_our_fakes_where_much_is_waited(
    monkeypatch: pytest.MonkeyPatch, chosen: Any, processors: int, workers: str
) -> None:
    """Others are asked one case after the other, unless the user says that they bear more."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    assert run.usual_workers(Options(**chosen)) == workers


def test_of_cases_that_are_imported_those_that_are_named_are_collected() -> None:
    """Half a second less for each of a thousand mutants."""
    id = next(iter(cases.found("deviceplugin")))
    for only, files in (((id,), 1), ((id, "TM-*"), 0), ((), 0)):
        options = Options(interface="deviceplugin", only=only)
        places = run._places(INTERFACES["deviceplugin"], options)
        assert sum(place.is_file() for place in places) == files


def test_a_target_out_of_reach_leaves_reports(toy: Toy, tmp_path: Path) -> None:
    """All five files, and an end record that says why; the caller gets the sentence, too."""
    out = tmp_path / "out"
    with pytest.raises(Unreachable, match="no such file"):
        toy.run(toy.ONE_OF_EACH, target="nowhere", report_dir=str(out))
    start, end = events.read(out / "events.jsonl")
    assert isinstance(start, events.Run)
    assert isinstance(end, events.End)
    assert (start.interface, start.target, end.exit_code) == ("toy", "nowhere", 6)
    assert len(os.listdir(out)) == 5


def test_every_run_has_an_id_of_its_own(toy: Toy) -> None:
    """Unless it was given one, which is how workers come to share it."""
    ids = []
    for run_id in ("", "", "mine"):
        toy.events.clear()
        toy.run(toy.ONE_OF_EACH, only=("TOY-A-001",), run_id=run_id)
        ids.append(toy.start.config["run_id"])
    assert len(set(ids)) == 3
    assert ids[2] == "mine"


def test_the_run_record_says_how_it_was_started(toy: Toy) -> None:
    """To start it again."""
    toy.run(toy.ONE_OF_EACH, seed=7, level="must", only=("TOY-A-00[1-3]",))
    assert (toy.start.interface, toy.start.revision, toy.start.seed) == ("toy", "toy-1", 7)
    assert toy.start.target == "toy driver 1.5 at fake"
    assert toy.start.config["level"] == "must"
    assert toy.start.config["only"] == ("TOY-A-00[1-3]",)


def test_workers_share_the_cases(toy: Toy) -> None:
    """Each is judged once, whoever runs it."""
    assert toy.run(toy.ONE_OF_EACH, workers="2") == 1
    assert sorted(toy.outcomes) == [f"TOY-A-00{number}" for number in range(1, 7)]
    assert sum(isinstance(event, CaseDone) for event in toy.events) == 6


CANARY = "s3cr3t-canary"
KINDS = (
    "CreateVolume",
    "DeleteVolume",
    "ControllerPublishVolume",
    "ControllerUnpublishVolume",
    "ControllerValidateVolumeCapabilities",
    "NodeStageVolume",
    "NodePublishVolume",
    "CreateSnapshot",
    "DeleteSnapshot",
    "ListSnapshots",
)


@pytest.mark.parametrize("target", ["mutant:ForgetsReadOnly", "driver"])
def test_secrets_are_in_no_report(
    tmp_path: Path, target: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither of a whole run, whose failures tell their calls, nor where the driver itself says
    in its refusals what it was sent.
    """
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text("".join(f"{kind}Secret: {{token: {CANARY}}}\n" for kind in KINDS))
    heard: list[str] = []
    refusal = f"{{code: PERMISSION_DENIED, message: 'bad token {CANARY}'}}"
    rules = f"- {{when: {{method: DeleteVolume}}, do: {{status: {refusal}}}}}"
    with FakeDriver(storage="memory", faults=Faults.from_yaml(rules)) as driver:
        options = Options(
            interface="csi",
            target=str(driver.endpoint) if target == "driver" else target,
            only=("CSI-CTRL-00*",) if target == "driver" else (),
            report_dir=str(tmp_path / "out"),
            settings={"csi.secrets": str(secrets)},
            json=True,
        )
        assert run.run(options, plugins=[Listener(lambda event: heard.append(repr(event)))]) == 1
    output = capfd.readouterr()
    texts = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert len(texts) == 5
    assert "***" in texts["events.jsonl"]
    texts_shown = {**texts, "stdout": output.out, "stderr": output.err, "events": "".join(heard)}
    assert [name for name, text in texts_shown.items() if CANARY in text] == []
