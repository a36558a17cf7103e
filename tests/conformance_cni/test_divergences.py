"""Where text and field part: what the policy `report` takes for a warning."""

from __future__ import annotations

from conformance.cni.divergences import DIVERGENCES, warned
from conformance.engine import cases, catalogue
from tests.targets import resolved


def test_only_the_policy_report_softens_anything() -> None:
    """Strict is the default, and practice has its own say in each case."""
    for policy, ids in (("report", set(DIVERGENCES)), ("practice", set()), ("strict", set())):
        assert set(warned(resolved("cni", policy=policy))) == ids
    assert not warned(resolved("cni"))


def test_every_parted_case_exists_and_every_marked_row_is_among_them() -> None:
    """The catalogue marks rows of its register with a D and a number."""
    assert set(DIVERGENCES) <= set(cases.found("cni"))
    rows = catalogue.rows("cni").items()
    assert {id for id, row in rows if "/D" in row["level"]} <= set(DIVERGENCES)


def test_a_target_is_judged_by_the_cases_about_its_kind() -> None:
    """A plugin is no runtime, and a folder is neither."""
    judged = {
        "exec:/opt/cni/bin/bridge": "CNI-PLG-001",
        "/run/containerd/containerd.sock": "CNI-RT-001",
        "dir:/etc/cni/net.d": "CNI-CFG-001",
    }
    for target, own in judged.items():
        assert [id for id in judged.values() if resolved("cni", target).judges(id)] == [own]
