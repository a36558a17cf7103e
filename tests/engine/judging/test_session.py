"""How the engine comes into a pytest session, and what a run says of itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.engine import events
from conformance.engine.events import End, Run
from conformance.engine.judging import session
from conformance.engine.options import Options
from refimpl.wire.client import Unreachable

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def test_what_was_chosen_is_kept_and_nothing_else() -> None:
    """A report shows what differs from a plain run; `drawn` and `json` are about this terminal."""
    chosen = Options(interface="csi", level="must", drawn=True, json=True, only=("CSI-LV-*",))
    shown = session.shown(chosen)
    assert {
        name: value if isinstance(value, str) else [*value] for name, value in shown.items()
    } == {
        "interface": "csi",
        "target": "fake",
        "level": "must",
        "only": ["CSI-LV-*"],
    }


def test_settings_are_shown_without_secrets() -> None:
    """Not even where they lie."""
    settings = {"csi_secrets": "/nowhere/canary.yaml", "csi_testvolumesize": 1}
    shown = session.shown(Options(settings=settings))["settings"]
    assert shown == {"csi_secrets": "***", "csi_testvolumesize": 1}


def test_a_run_that_could_not_begin_has_its_reports(tmp_path: Path) -> None:
    """CI collects JUnit whatever the exit code."""
    out = tmp_path / "out"
    reason = Unreachable("nobody listens")
    session.record_not_begun(Options(interface="csi", report_dir=str(out)), reason)
    run, end = events.read(out / "events.jsonl")
    assert isinstance(run, Run)
    assert isinstance(end, End)
    assert (end.exit_code, end.message) == (6, "nobody listens")
    assert "nobody listens" in (out / "junit_csi.xml").read_text()
    assert len(list(out.iterdir())) == 5


def test_targets_are_closed_once() -> None:
    """Whoever opened one closes it."""
    closed: list[str] = []

    class Target:
        def close(self) -> None:
            closed.append("closed")

    opened = session.Opened()
    opened.targets["toy"] = Target()  # type: ignore[assignment]
    opened.close()
    opened.close()
    assert closed == ["closed"]
    assert opened.targets == {}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--refimpl-expect", "nowhere.toml"), "nowhere.toml"),
        (("--refimpl-expect", "{dir}/range.toml"), "write a range"),
        (("--refimpl-report-dir", "{dir}/range.toml/out"), "--report-dir"),
        (("--refimpl-level", "musty"), "musty"),
        (("--refimpl-options", "{}}"), "--refimpl-options"),
    ],
)
def test_a_wrong_option_under_plain_pytest_is_a_usage_error(
    tmp_path: Path, words: tuple[str, str], sentence: str
) -> None:
    """Not an INTERNALERROR with a traceback of ours."""
    known = '[[known]]\nid = "CSI-LV-001"\nreason = "x"\nrule = "x"\nversions = "new"\n'
    (tmp_path / "range.toml").write_text(f'target = "t"\n{known}')
    option, value = words
    done = subprocess.run(
        [
            *PYTEST,
            *("--pyargs", "conformance.csi.cases.driver.test_identity"),
            *(option, value.replace("{dir}", str(tmp_path))),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert sentence in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_the_judge_is_attached_once() -> None:
    """The plugin and conftest.py both ask for it, in whatever order."""
    config = pytest.Config.fromdictargs({}, ["-p", "no:cacheprovider"])
    session.attach(config)
    before = session.judge_of(config)
    session.attach(config)
    assert session.judge_of(config) is before
    assert config.pluginmanager.get_plugin("refimpl-judge") is before
    assert config.pluginmanager.has_plugin("refimpl-recorder")
    # What workers are given: the very same options, run id included.
    assert before.options.run_id in config.option.refimpl_options


def test_a_worker_judges_and_does_not_record() -> None:
    """One stream for a run."""
    config = pytest.Config.fromdictargs({}, ["-p", "no:cacheprovider"])
    config.workerinput = {}  # type: ignore[attr-defined]
    session.attach(config)
    assert session.judge_of(config)
    assert not config.pluginmanager.has_plugin("refimpl-recorder")
