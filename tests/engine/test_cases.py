"""The cases there are, as commands and pages show them."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from conformance.csi import needs, rpcs
from conformance.engine import cases, catalogue, fixtures
from conformance.engine.interfaces import INTERFACES
from conformance.engine.needs import AnyOf
from conformance.engine.options import BadOption

FIELDS = {"id", "interface", "level", "title", "source", "section", "needs", "side"}


def test_cases_are_found_in_the_order_of_their_ids() -> None:
    """For one interface and for all."""
    ids = list(cases.found("csi"))
    assert ids == sorted(ids)
    assert [entry.case.id for entry in cases.all_cases("csi")] == ids
    assert set(ids) <= {entry.case.id for entry in cases.all_cases()}


def test_an_unknown_interface_names_those_there_are() -> None:
    """Exit code 4 of every command."""
    with pytest.raises(BadOption, match="there is csi"):
        cases.all_cases("csy")


def test_a_record_has_the_fields_that_scripts_read() -> None:
    """Plain text and lists of text; none of it empty but needs."""
    for entry in cases.all_cases():
        record = cases.record(entry)
        assert set(record) == FIELDS
        assert record["level"] in ("MUST", "SHOULD", "MAY")
        assert record["side"] in ("plugin", "client")
        assert all(record[name] for name in FIELDS - {"needs"}), record["id"]
        assert all(isinstance(need, str) and not need.isdigit() for need in record["needs"])


@pytest.mark.parametrize(
    ("need", "name"),
    [
        (needs.GET_CAPACITY, "controller:GET_CAPACITY"),
        (needs.without(needs.STAGE_UNSTAGE_VOLUME), "without node:STAGE_UNSTAGE_VOLUME"),
        (needs.CONTROLLER, "controller service"),
        (needs.REVISION_1_13, "revision 1.13"),
        (needs.TWO_NODE_ENDPOINTS, "second endpoint"),
        (needs.WRITERS, "SINGLE_NODE_MULTI_WRITER"),
        (AnyOf((needs.LIST_VOLUMES, needs.GET_CAPACITY)), None),
    ],
)
def test_a_need_has_a_name_that_people_understand(need: object, name: str | None) -> None:
    """A number or a class name would tell nobody anything."""
    either = "controller:LIST_VOLUMES or controller:GET_CAPACITY"
    assert str(need) == (name or either)


def test_calls_are_rpcs_in_the_order_of_the_source() -> None:
    """Other names with a capital letter are not taken for calls."""
    known = {rpc.name for rpc in rpcs.every()}
    for entry in cases.all_cases("csi"):
        assert set(entry.calls) <= known, entry.case.id
    calls = cases.found("csi")["CSI-CTRL-026"].calls
    assert calls == ["DeleteVolume", "ValidateVolumeCapabilities"]


def test_an_explanation_tells_rule_reason_source_and_code() -> None:
    """Everything that a vendor asks on seeing an id."""
    text = " ".join(cases.explanation("CSI-CTRL-019").split())
    for part in ("rule", "why", "MUST", "CSI 1.13", "CreateVolume", "conformance.csi.cases."):
        assert part in text


def test_an_explanation_names_targets_that_are_known_to_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From our own files of known failures; a file without entries is a good sign."""
    (tmp_path / "expectations").mkdir()
    known = '[[known]]\nid = "CSI-LV-006"\nreason = "it lists everything"\nrule = "r"\n'
    (tmp_path / "expectations" / "a.toml").write_text(f'target = "hostpath"\n{known}')
    (tmp_path / "expectations" / "b.toml").write_text('target = "clean"\n')
    monkeypatch.setattr(fixtures, "folder", lambda: tmp_path)
    assert cases.deviations("CSI-LV-006") == ["hostpath: it lists everything"]
    assert cases.deviations("CSI-LV-007") == []


def test_an_unknown_id_gets_the_nearest_one() -> None:
    """Or none at all where none is near."""
    with pytest.raises(BadOption, match="did you mean CSI-CTRL-0"):
        cases.explanation("CSI-CTRL-01")
    with pytest.raises(BadOption, match=r"there is no case ZZZ$"):
        cases.explanation("ZZZ")


def test_a_row_without_a_case_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the reason is given for a family of rows; that a row exists is not made up."""
    waiting = {"CSI-CTRL-*": "the next part"}
    monkeypatch.setattr(catalogue, "deferred", lambda: waiting)
    row = next(id for id in catalogue.rows("csi") if id.startswith("CSI-CTRL-"))
    monkeypatch.setattr(cases, "all_cases", list)
    with pytest.raises(BadOption, match=f"{row} has no case yet: the next part"):
        cases.explanation(row)
    with pytest.raises(BadOption, match="there is no case CSI-CTRL-999"):
        cases.explanation("CSI-CTRL-999")


def test_two_cases_of_one_id_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are never used twice."""
    package = tmp_path / "twice_toys" / "cases"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "test_toys.py").write_text(
        "from conformance.engine.case import case\n"
        '@case("CSI-LV-006", "t")\ndef test_a(): "why"\n'
        '@case("CSI-LV-006", "t")\ndef test_b(): "why"\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    toys = attrs.evolve(INTERFACES["csi"], name="toy", package="twice_toys")
    monkeypatch.setitem(INTERFACES, "toy", toys)
    with pytest.raises(BadOption, match="CSI-LV-006 is implemented twice"):
        cases.found("toy")
