"""A host as a case has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cdi.documents import OCI, document, variables
from conformance.cdi.host import CdiHost
from conformance.cdi.inprocess import InProcess
from conformance.cdi.judging import advised, judged
from conformance.engine.scope import CaseScope
from conformance.engine.targets.lines import Message
from conformance.engine.verdict import Broken, Doubtful, Several
from tests.conformance_cdi.conftest import Opener


def test_each_host_has_directories_and_a_kind_of_its_own(opened: Opener) -> None:
    """No case meets the files of another one, and nothing stays."""
    target = opened()
    scope = CaseScope()
    one, two = CdiHost(target, scope), CdiHost(target, scope)
    name = one.define()
    assert one.kind != two.kind
    assert set(one.directories).isdisjoint(two.directories)
    assert variables(one.inject(name)) == ["REFIMPL_DEVICE=a"]
    assert two.try_inject(name).tells(name)
    scope.close()
    assert not one.folder.exists()
    assert not two.folder.exists()


def test_directories_that_are_given_lose_only_our_files(tmp_path: Path, opened: Opener) -> None:
    """They are those of a runtime, with its own files in them."""
    target = opened()
    (tmp_path / "vendor.json").write_text("{}")
    target.directories = (str(tmp_path),)
    scope = CaseScope()
    host = CdiHost(target, scope)
    path = host.write("a.json", document())
    assert path.parent == tmp_path
    assert path.name != "a.json"
    scope.close()
    assert [each.name for each in tmp_path.iterdir()] == ["vendor.json"]


def test_a_document_is_refused_with_the_reason_or_taken(opened: Opener, scope: CaseScope) -> None:
    """JSON, and text as YAML."""
    host = CdiHost(opened(), scope)
    assert host.refusal(document()) == ""
    assert "no environment variable" in host.refusal(document(edits={"env": ["A"]}))
    assert host.refusal("", "a.yaml")


class Answers(InProcess):
    """Tells of every file that it has one device and one error."""

    def answer(self, act: str, request: Message) -> Message:
        """As ours answers, but for `load`."""
        reply = super().answer(act, request)
        if act == "load":
            (path,) = Path(self.caches[request["cache"]].directories[0]).iterdir()
            return {"devices": ["a/b=c"], "errors": {str(path): ["no"]}}
        return reply


def test_a_file_that_is_both_refused_and_taken_is_a_finding(
    opened: Opener, scope: CaseScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of it would be injected."""
    monkeypatch.setattr("conformance.cdi.target.InProcess", Answers)
    host = CdiHost(opened(), scope)
    with pytest.raises(Broken, match="a refused file has no devices"):
        host.refusal(document())


def test_all_variants_are_judged_before_the_finding(opened: Opener, scope: CaseScope) -> None:
    """A vendor mends them at once."""
    host = CdiHost(opened(), scope)
    bad, good = document(edits={"env": ["A"]}), document()
    judged(host, "rule", taken={"good": good}, refused={"bad": bad})
    with pytest.raises(Several) as several:
        judged(host, "rule", taken={"bad": bad}, refused={"good": good})
    first, second = map(str, several.value.breaches)
    assert first.startswith("rule: bad\n  wanted: taken\n  got:    refused (")
    assert second == "rule: good\n  wanted: refused\n  got:    taken"
    with pytest.raises(Doubtful):
        advised(host, "rule", refused={"good": good})


def test_what_is_injected_into_stays_as_it_was(opened: Opener, scope: CaseScope) -> None:
    """The next injection starts from the same."""
    host = CdiHost(opened(), scope)
    config = host.inject(host.define())
    assert config != OCI
    assert variables(OCI) == []
