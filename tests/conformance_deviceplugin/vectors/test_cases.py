"""Cases that are made of vectors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from conformance.deviceplugin.cases.topology import test_hints as hints
from conformance.deviceplugin.cases.topology import test_merge as merge
from conformance.deviceplugin.cases.topology import test_placement as placement
from conformance.deviceplugin.cases.topology import test_selection as selection
from conformance.deviceplugin.vectors import rows
from conformance.deviceplugin.vectors.cases import cases_of
from conformance.engine import cases
from conformance.engine.case import case_of
from conformance.engine.level import MUST
from conformance.engine.targets.revision import Revision
from conformance.kubelet.client import ABILITIES
from conformance.kubelet.needs import lacks_of


def _unmet(id: str, *lacking: str, release: str = "1.37") -> str | None:
    """Why the case of an id is skipped on a client that lacks these."""
    client: Any = SimpleNamespace(name="it", able=ABILITIES - {*lacking})
    target = SimpleNamespace(lacks=lacks_of(client), revision=Revision("kubernetes", release))
    return cases.found("deviceplugin")[id].case.unmet(target)


def test_every_id_of_the_vectors_is_a_case_of_one_module() -> None:
    """Found as all others are, by the name that says its rule."""
    ids = {id for id in cases.found("deviceplugin") if id.startswith("TM-")}
    assert ids == set(rows.vectors())
    entry = cases.found("deviceplugin")["TM-001"]
    assert entry.function is getattr(hints, entry.function.__name__)
    assert entry.case.title == rows.rules()["TM-001"].rule
    assert entry.case.why == rows.rules()["TM-001"].why
    assert entry.case.level is MUST


def test_cases_of_one_configuration_follow_one_another() -> None:
    """So that a client is started as seldom as can be."""
    order = [case_of(each) for each in cases_of("here", "TM-001", "TM-015", "TM-002").values()]
    assert [each.id for each in order if each] == ["TM-001", "TM-002", "TM-015"]
    ids = [each.id for value in vars(selection).values() if (each := case_of(value))]
    assert ids[-4:] == ["TM-056", "TM-057", "TM-058", "TM-064"]


def test_rows_need_questions_or_nodes() -> None:
    """A client that answers needs nothing else; one that does not shows what devices can show."""
    assert _unmet("TM-028", "numa", "pods") is None
    assert _unmet("TM-001", "topology") is None
    silent = "it answers no questions about its topology manager"
    assert _unmet("TM-001", "topology", "numa") == f"{silent} and it has the NUMA nodes that it has"
    assert _unmet("TM-028", "topology") == silent
    assert _unmet("TM-029", "topology") is None
    assert _unmet("TM-029", "topology", release="1.35") == (
        f"{silent} and a rule from 1.36 on; this run judges by kubernetes-1.35"
    )


def test_selection_needs_what_its_rows_use() -> None:
    """Pods always; nodes where devices lie on some, a restart where a pod changes meanwhile."""
    needs = {each.case.id: cases.record(each)["needs"] for each in cases.all_cases("deviceplugin")}
    assert needs["TM-049"] == ["pods", "pod-resources"]
    assert needs["TM-056"] == ["pods", "pod-resources", "numa"]
    assert needs["TM-065"] == ["pods", "pod-resources", "restart"]
    assert needs["TM-040"] == ["numa", "restart"]
    for module in (hints, merge, placement):
        assert any(case_of(value) for value in vars(module).values())
