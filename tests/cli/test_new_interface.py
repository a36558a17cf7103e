"""A new interface is its package and one entry: every command, the matrix and pytest know it."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.engine import cases, matrix, pages
from conformance.engine.interfaces import INTERFACES

Command = Callable[..., Any]

FILES = {
    "interface.py": '''
        """Buckets, as the engine and the command know them."""

        from pathlib import Path

        from conformance.engine.interface import FAKES, Interface, Option, Scheme

        HERE = Path(__file__).parent
        BUCKET = Interface(
            name="bucket",
            package="bucket",
            title="Buckets",
            heading="Bucket",
            subject="a bucket",
            prefixes=("BKT",),
            catalogues=(str(HERE / "rows"),),
            family="bucket",
            revisions=("1.0",),
            targets={name: Scheme(shown=name, judges=("BKT-*",)) for name in (*FAKES, "file")},
            settings="bucket.target:Settings",
            opener="bucket.target:open_target",
            leftovers="bucket.target:open_leftovers",
            mutants=str(HERE / "mutants"),
            options=(Option(flag="bucket-size", field="size", kind=int, text="Litres.  [10]"),),
        )
    ''',
    "target.py": '''
        """A bucket under test."""

        import msgspec

        from conformance.engine import mutants
        from conformance.engine.ledger import sweep
        from conformance.engine.ledger.entries import FILE, Ledger
        from conformance.engine.ledger.leftovers import Leftovers
        from conformance.engine.needs import Lacks


        class Settings(msgspec.Struct, forbid_unknown_fields=True):
            size: int = 10


        class Bucket:
            def __init__(self, size, mutant=None):
                self.size, self.mutant = size, mutant

            def fill(self, litres):
                if self.mutant:
                    return self.mutant.fill(lambda asked: min(asked, self.size), litres)
                return min(litres, self.size)


        class Target:
            interface, name, version, secrets, only_warns = "bucket", "bucket", "1", (), ()

            def __init__(self, resolved, bucket):
                self.bucket, self.revision = bucket, resolved.judged_by("1.0")
                self.lacks = Lacks({"handle": "it has no handle"})
                self.ledger = Ledger(
                    sweep.ledger_path("bucket", resolved.text, resolved.run_id), resolved.text
                )

            def mark(self):
                return 0

            def calls(self, mark):
                return []

            def lost(self, *, failed=True):
                return None

            def close(self):
                self.ledger.close()


        def open_target(resolved):
            broken = resolved.scheme == "mutant"
            mutant = mutants.load("bucket", resolved.address) if broken else None
            return Target(resolved, Bucket(resolved.settings.size, mutant))


        def open_leftovers(resolved):
            return Leftovers()
    ''',
    "conftest.py": """
        import pytest

        from conformance.engine.judging.session import judge_of


        @pytest.fixture
        def bucket(request):
            return judge_of(request.config).target("bucket").bucket
    """,
    "cases/test_filling.py": '''
        """Filling."""

        from conformance.engine.case import case
        from conformance.engine.needs import Feature
        from conformance.engine.verdict import expect


        @case("BKT-FILL-001", "buckets 1.0, filling")
        def test_a_bucket_holds_what_it_is_filled_with(bucket):
            "Who carries water wants to know how much."
            expect(bucket.fill(7) == 7, "it holds all of it", wanted=7, got=bucket.fill(7))


        @case("BKT-FILL-002", "buckets 1.0, carrying", needs=[Feature("handle", "a handle")])
        def test_a_bucket_is_carried_by_its_handle(bucket):
            "Hands get wet."
            expect(False, "it is carried", wanted="dry hands", got="wet ones")
    ''',
    "mutants/leaks.py": '''
        """Buckets that leak."""

        from conformance.engine.mutants import Mutant


        class Leaks(Mutant):
            """A hole in the bottom."""

            kills = {"BKT-FILL-001"}

            def fill(self, proceed, litres):
                return proceed(litres) - 1
    ''',
    "rows.json": json.dumps(
        [
            {"id": "BKT-FILL-001", "level": "M", "section": "1 Filling"},
            {"id": "BKT-FILL-002", "level": "S", "section": "1 Filling"},
        ]
    ),
    "__init__.py": '"""The suite of buckets."""',
    "cases/__init__.py": '"""Cases."""',
}
ENTRY = """
from bucket.interface import BUCKET
from conformance.engine.interfaces import INTERFACES

INTERFACES["bucket"] = BUCKET
"""


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that its package lies in, with the entry made."""
    for name, text in FILES.items():
        path = tmp_path / "bucket" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip())
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # a run has workers of its own
    record = importlib.import_module("bucket.interface").BUCKET
    monkeypatch.setitem(INTERFACES, "bucket", record)
    for command in ("test", "sweep"):  # they list the options of what there is when they are made
        monkeypatch.delitem(sys.modules, f"refimpl.cli.{command}", raising=False)
    yield tmp_path
    cases.forget("bucket")
    for name in [name for name in sys.modules if name.partition(".")[0] == "bucket"]:
        del sys.modules[name]


@pytest.mark.usefixtures("bucket")
def test_commands_that_tell_of_cases_know_it(refimpl: Command) -> None:
    """Its cases by id, level and need, its deviations, its page."""
    done = refimpl("list", "bucket")
    assert "BKT-FILL-001   MUST    a bucket holds what it is filled with" in done.stdout
    records = [json.loads(line) for line in refimpl("list", "--json").stdout.splitlines()]
    (record,) = [each for each in records if each["id"] == "BKT-FILL-002"]
    assert (record["interface"], record["level"]) == ("bucket", "SHOULD")
    assert (record["needs"], record["side"]) == (["a handle"], "plugin")
    assert "Who carries water" in refimpl("explain", "BKT-FILL-001").stdout
    assert pages.page("bucket").startswith("# Cases: Buckets\n\n2 cases.")


def test_a_run_judges_it_and_reports_name_it(bucket: Path, refimpl: Command) -> None:
    """Its options, its revisions, its fakes."""
    out = bucket / "out"
    done = refimpl("test", "bucket", "--report-dir", str(out), "--bucket-size", "8")
    assert done.returncode == 0, done.stdout
    assert "it has no handle" in done.stdout
    assert "# Bucket" in (out / "summary.md").read_text()
    assert 'testsuite name="bucket' in (out / "junit_bucket.xml").read_text()
    assert refimpl("test", "bucket", "--bucket-size", "5").returncode == 1
    assert refimpl("test", "bucket", "mutant:Leaks").returncode == 1
    done = refimpl("test", "bucket", "--revision", "bucket-2")
    assert "there is bucket-1.0" in done.stderr
    assert "--cni-path: an option of cni, not of bucket" in (
        refimpl("test", "bucket", "--cni-path", "/x").stderr
    )
    assert "a bucket is named as fake; mutant; unbroken; file" in (
        refimpl("test", "bucket", "unix:///x").stderr
    )


def test_a_sweep_works_off_its_ledgers(bucket: Path, refimpl: Command) -> None:
    """Whatever kinds of things it has."""
    from conformance.engine.ledger import sweep
    from conformance.engine.ledger.entries import FILE, Ledger

    spilt = bucket / "spilt"
    spilt.touch()
    ledger = Ledger(sweep.ledger_path("bucket", "file:x", "1"), "file:x")
    ledger.making(FILE, spilt)
    ledger.close()
    done = refimpl("sweep", "bucket", "file:x")
    assert done.returncode == 0
    assert f"file {spilt} removed" in done.stdout
    assert not spilt.exists()


@pytest.mark.usefixtures("bucket")
def test_the_matrix_runs_its_mutants(capsys: pytest.CaptureFixture[str]) -> None:
    """A case without a killer is told."""
    wrong = matrix.check("bucket", (), 2, False)
    assert "dies     Leaks" in capsys.readouterr().out
    assert [line for line in wrong if "BKT" in line] in (["no mutant kills BKT-FILL-002"], [])


def test_plain_pytest_runs_its_cases(bucket: Path) -> None:
    """By the name of its package, and announces it by its name."""
    (bucket / "entry.py").write_text(ENTRY)
    words = ("-p", "entry", "--pyargs", "bucket", "--refimpl-target", "fake")
    words += ("--refimpl-report-dir", str(bucket / "out"), "-p", "no:cacheprovider", "-q")
    command = [sys.executable, "-m", "pytest", *words, "--import-mode=importlib"]
    done = subprocess.run(command, cwd=bucket, capture_output=True, text=True, check=False)
    assert "1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    first = (bucket / "out" / "events.jsonl").read_text().splitlines()[0]
    assert json.loads(first)["interface"] == "bucket"
