"""Network configurations as a target: what each case says of them, and how they are opened."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.cni.mutation import DocumentMutant
from conformance.cni.needs import DIRECTORY, INSTALLED, READ
from conformance.cni.networks import lint_mutations, samples
from conformance.cni.networks.documents import SHOWN, Documents
from conformance.cni.opening import open_target
from conformance.cni.target import CniTarget
from conformance.engine import cases, catalogue, matrix, mutants
from conformance.engine.events import OUTCOMES
from conformance.engine.options import BadOption
from conformance.engine.verdict import Broken, Doubtful
from refimpl.cni.lint import Severity, lint
from refimpl.wire.client import Unreachable
from tests.targets import resolved

ROWS = sorted(fnmatch.filter(catalogue.rows("cni"), "CNI-CFG-*"))
MUTANTS = {
    name: kind for name, kind in mutants.classes("cni").items() if issubclass(kind, DocumentMutant)
}
LIST: dict[str, Any] = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "bridge"}]}
Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """`written({"10-net.conflist": {...}})`: a directory of these, a text as it is."""

    def write(files: dict[str, Any]) -> Path:
        for name, document in files.items():
            text = document if isinstance(document, str) else json.dumps(document)
            samples.put(tmp_path / "net.d" / name, text, 0o644)
        return tmp_path / "net.d"

    return write


def opened(target: str, **settings: Any) -> CniTarget:
    """A target of documents, as the engine opens it."""
    return open_target(resolved("cni", target, **settings))


def broken(documents: Documents, row: str) -> Broken:
    """What the case of that row raises."""
    with pytest.raises(Broken) as raised:
        documents.keep(row)
    return raised.value


def grave(documents: Documents) -> set[str]:
    """The rows that have errors or warnings."""
    findings = documents.report.findings
    return {one.id for one in findings if one.severity is not Severity.INFO}


def test_every_row_has_its_case() -> None:
    """Forty-one rules, and each names where it is written."""
    listed = cases.found("cni")
    assert len(ROWS) == 41
    assert [row for row in ROWS if row not in listed] == []
    assert all(len(listed[row].case.why) > 40 for row in ROWS)


def test_the_level_of_every_case_is_that_of_its_row() -> None:
    """What is practice binds no more than a SHOULD; of two levels the stricter one counts, the
    softer findings of such a row are warnings.
    """
    levels = {"M": "MUST", "S": "SHOULD", "P": "SHOULD", "I": "MAY"}
    listed = cases.found("cni")
    rows = catalogue.rows("cni")
    wrong = [
        row for row in ROWS if listed[row].case.level.name != levels[str(rows[row]["level"])[0]]
    ]
    assert wrong == []


def test_every_row_has_a_mutant() -> None:
    """The proof that its case can fail."""
    killed = {row for kind in MUTANTS.values() for row in kind.kills}
    assert sorted(killed) == ROWS


def test_the_samples_have_nothing_to_find(tmp_path: Path) -> None:
    """All there is to say of them is information."""
    documents = samples.opened(tmp_path)
    assert grave(documents) == set()
    assert len(documents.networks) == 5
    for network in lint_mutations.chosen(documents):
        lint_mutations.watch(documents, network)


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_mutant_breaks_its_row_and_no_other(tmp_path: Path, name: str) -> None:
    """One mistake, one finding: a user is not told the same thing twice."""
    mutant = MUTANTS[name]()
    documents = samples.opened(tmp_path, mutant)
    assert grave(documents) == set(mutant.kills) - {"CNI-CFG-040"}


def test_a_linter_that_sees_less_is_found_out(tmp_path: Path) -> None:
    """Its silence on somebody's documents would mean nothing."""
    documents = samples.opened(tmp_path, MUTANTS["IsBlindToNameservers"]())
    with pytest.raises(
        lint_mutations.Blind, match=r"10-pods.conflist: a nameserver by name \(CNI-CFG-027"
    ):
        lint_mutations.watch(documents, documents.networks[0])


def test_a_linter_that_sees_more_is_found_out(tmp_path: Path) -> None:
    """A finding on a sound document is as bad as one that is missing."""
    samples.write(tmp_path)
    finding = SimpleNamespace(id="CNI-CFG-028", severity=Severity.ERROR)
    strange: Any = SimpleNamespace(findings=(finding,))
    documents = Documents(tmp_path / "net.d", lint_bytes=lambda _data, **_name: strange)
    with pytest.raises(lint_mutations.Blind, match="has findings of its own: CNI-CFG-028"):
        lint_mutations.watch(documents, documents.networks[0])


def test_documents_with_errors_are_not_spoilt_further(written: Written) -> None:
    """Whether a second mistake shows depends on the first."""
    wrong = written({"10-net.conflist": {**LIST, "plugins": []}})
    assert lint_mutations.chosen(Documents(wrong)) == []


def test_of_many_documents_some_are_drawn_by_the_seed(written: Written) -> None:
    """A large directory takes no longer, and a run can be repeated."""
    many = {f"{number}.conflist": {**LIST, "name": f"n{number}"} for number in range(10, 40)}
    folder = written(many)
    names = [
        [network.name for network in lint_mutations.chosen(Documents(folder, seed=seed))]
        for seed in (1, 1, 2)
    ]
    assert len(names[0]) == lint_mutations.MOST
    assert names[0] == names[1] != names[2]


def test_a_finding_says_where_what_and_what_to_do(written: Written) -> None:
    """In the words of lint, the file as seen from the directory."""
    document = '{"cniVersion": "1.0.0",\n "name": "a b", "plugins": [{"type": "bridge"}]}'
    outcomes = broken(Documents(written({"10-net.conflist": document})), "CNI-CFG-002")
    assert outcomes.rule.startswith("10-net.conflist:2:10: \"name\" is the string 'a b'")
    assert outcomes.wanted.startswith("give a name of letters")
    assert outcomes.wanted.endswith("(CNI 1.1, configuration format: name)")
    assert outcomes.got == "1 error: a runtime or a plugin fails over it"


def test_one_thing_to_do_is_said_once_and_several_by_their_places(written: Written) -> None:
    """As many lines as it takes."""
    first = {**LIST, "plugins": [{"type": "bridge", "args": {}, "prevResult": {}}]}
    same = broken(Documents(written({"10-net.conflist": first})), "CNI-CFG-018")
    assert len(same.rule.splitlines()) == 2
    assert len(same.wanted.splitlines()) == 1
    first["cniVersions"] = []
    second = {**LIST, "name": "b", "cniVersions": "1.0.0"}
    documents = Documents(written({"10-net.conflist": first, "20-b.conflist": second}))
    both = broken(documents, "CNI-CFG-007")
    assert [line.partition(":")[0] for line in both.wanted.splitlines()] == [
        "10-net.conflist",
        "20-b.conflist",
    ]
    assert both.got.startswith("1 error: ")
    assert "; 1 warning: " in both.got


def test_many_findings_of_a_rule_are_counted(written: Written) -> None:
    """And the command that shows them all is named."""
    plugins = [{"type": "bridge", "args": {}} for _ in range(SHOWN + 3)]
    folder = written({"10-net.conflist": {**LIST, "plugins": plugins}})
    lines = broken(Documents(folder), "CNI-CFG-018").rule.splitlines()
    assert len(lines) == SHOWN + 1
    assert lines[-1] == f"and 3 more, see refimpl cni lint {folder}"


def test_warnings_alone_are_doubts(written: Written) -> None:
    """A repeated key does not keep a network from being loaded, whatever the level of the row."""
    documents = Documents(written({"a.conflist": json.dumps(LIST)[:-1] + ', "name": "net"}'}))
    assert isinstance(broken(documents, "CNI-CFG-001"), Doubtful)


def test_what_is_only_worth_knowing_is_no_finding(written: Written) -> None:
    """The second of two networks is told of in `refimpl cni lint`."""
    files = {"10-net.conflist": LIST, "20-b.conflist": {**LIST, "name": "b"}, "note.txt": ""}
    documents = Documents(written(files))
    assert {one.id for one in documents.report.findings} == {"CNI-CFG-034", "CNI-CFG-035"}
    documents.keep("CNI-CFG-034")
    documents.keep("CNI-CFG-035")


def test_documents_are_linted_once(monkeypatch: pytest.MonkeyPatch, written: Written) -> None:
    """Forty cases read one report."""
    calls = []

    def counted(*words: Any, **more: Any) -> Any:
        calls.append(words)
        return lint(*words, **more)

    monkeypatch.setattr("conformance.cni.networks.documents.lint.lint", counted)
    documents = opened(f"dir:{written({'10-net.conflist': LIST})}").documents
    for row in ROWS:
        documents.keep(row)
    assert len(calls) == 1


def test_a_target_of_documents_is_named_by_what_it_holds(written: Written) -> None:
    """It makes no calls, and it cannot die."""
    folder = written({"10-net.conflist": LIST})
    target = opened(f"dir:{folder}")
    assert (target.name, str(target.revision)) == ("1 network", "cni-1.1.0")
    assert target.calls(target.mark()) == []
    assert target.lost() is None
    target.close()


def test_plugins_are_asked_where_it_is_known_where_they_are(tmp_path: Path) -> None:
    """They are run for their versions."""
    folder = samples.write(tmp_path)
    (tmp_path / "bin" / "sbr").write_text("#!/bin/sh\nexit 7\n")
    target = opened(f"dir:{folder}", cni_path=str(tmp_path / "bin"))
    assert INSTALLED.unmet(target) is None
    assert "does not tell its versions" in broken(target.documents, "CNI-CFG-017").rule
    assert "--cni-path" in str(INSTALLED.unmet(opened(f"dir:{folder}")))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("dir:{0}/none", "no such file or directory"),
        ("file:{0}/none.conflist", "no such file or directory"),
        ("file:", "names no file"),
        ("dir:{0}/net.d/10-net.conflist", "no directory; use file:"),
        ("file:{0}/net.d", "no file; use dir:"),
        ("dir:{0}/net.d/empty", "is in it, nothing"),
        ("dir:{0}/net.d/others", "is in it, only a, b.CONF, c, ..."),
        ("file:{0}/net.d/loop.conf", "it cannot be read"),
    ],
)
def test_where_there_is_nothing_to_judge_one_sentence_says_so(
    written: Written, target: str, words: str
) -> None:
    """A directory without networks is not conformant, it is the wrong one."""
    others = {f"others/{name}": "" for name in ("a", "b.CONF", "c", "d")}
    folder = written({"10-net.conflist": LIST, **others})
    (folder / "empty").mkdir()
    (folder / "loop.conf").symlink_to("loop.conf")
    with pytest.raises(Unreachable, match=words.replace(".", "[.]")):
        opened(target.format(folder.parent))


def test_a_cni_path_of_no_directories_is_a_usage_error(written: Written) -> None:
    """Every plugin would be missing."""
    folder = written({"10-net.conflist": LIST})
    with pytest.raises(BadOption, match="--cni-path: /none is no directory"):
        opened(f"dir:{folder}", cni_path="/none")


def test_one_unreadable_file_is_one_finding(written: Written) -> None:
    """All that needs its contents is skipped with one reason."""
    folder = written({"10-net.conflist": "{", "20-b.conflist": LIST})
    alone = opened(f"file:{folder}/10-net.conflist")
    assert grave(alone.documents) == {"CNI-CFG-001"}
    assert READ.unmet(alone) == "no document can be read, see CNI-CFG-001"
    assert "dir:DIR" in str(DIRECTORY.unmet(alone))
    beside = opened(f"dir:{folder}")
    assert READ.unmet(beside) is None
    assert DIRECTORY.unmet(beside) is None


def test_the_suite_judges_a_directory(written: Written) -> None:
    """From the command line's target to outcomes by row, with none but the rows on documents."""
    folder = written(
        {
            "10-net.conflist": {**LIST, "plugins": [{"type": "bridge", "ipMasq": "yes"}]},
            "20-old.conf": {"cniVersion": "1.0.0", "name": "old", "type": "ptp"},
        }
    )
    verdicts = matrix.judge("cni", f"dir:{folder}")
    assert sorted(verdicts.outcomes) == ROWS
    outcomes = {
        outcome: sorted(row for row, listed in verdicts.outcomes.items() if listed == outcome)
        for outcome in OUTCOMES
        if outcome != "pass"
    }
    assert {outcome: rows for outcome, rows in outcomes.items() if rows} == {
        "fail": ["CNI-CFG-028"],
        "warn": ["CNI-CFG-033"],
        "skip": ["CNI-CFG-016"],
    }
    assert verdicts.messages["CNI-CFG-028"].startswith("10-net.conflist:1:")
    assert verdicts.exit_code == 1
