"""Where text and field part: what the policy `report` takes for a warning."""

from __future__ import annotations

from conformance.cni.divergences import PARTED
from conformance.cni.target import concerns, only_told
from conformance.engine import cases, fixtures
from conformance.engine.options import Options


def test_only_the_policy_report_softens_anything() -> None:
    """Strict is the default, and practice has its own say in each case."""
    for policy, told in (("report", set(PARTED)), ("practice", set()), ("strict", set())):
        assert set(only_told(Options(interface="cni", settings={"cni_policy": policy}))) == told
    assert not only_told(Options(interface="cni"))


def test_every_parted_case_exists_and_every_marked_row_is_among_them() -> None:
    """The catalogue marks rows of its register with a D and a number."""
    assert set(PARTED) <= set(cases.found("cni"))
    rows = fixtures.catalogue("cni").items()
    assert {id for id, row in rows if "/D" in row["level"]} <= set(PARTED)


def test_a_target_is_judged_by_the_cases_about_its_kind() -> None:
    """A plugin is no runtime, and a folder is neither."""
    asked = {
        "exec:/opt/cni/bin/bridge": ("CNI-PLG-*",),
        "/run/containerd/containerd.sock": ("CNI-RT-*",),
        "dir:/etc/cni/net.d": ("CNI-CFG-*",),
    }
    for target, globs in asked.items():
        assert concerns(Options(interface="cni", target=target)) == globs
