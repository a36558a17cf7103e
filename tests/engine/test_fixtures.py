"""Where data of the suite lies."""

from __future__ import annotations

from pathlib import Path

import pytest

import conformance
from conformance.engine import catalogue, fixtures


def test_an_installed_package_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`conformance/_fixtures` in a wheel, else beside the packages, as in a checkout."""
    package = tmp_path / "conformance"
    package.mkdir()
    monkeypatch.setattr(conformance, "__file__", str(package / "__init__.py"))
    assert fixtures.folder() == tmp_path / "fixtures"
    (package / "_fixtures").mkdir()
    assert fixtures.folder() == package / "_fixtures"


def test_rows_of_the_catalogue_are_found_by_id() -> None:
    """With their section, whose number is for the contract only."""
    row = catalogue.rows("csi")["CSI-CTRL-019"]
    assert row["section"].endswith(catalogue.section("CSI-CTRL-019"))
    assert not catalogue.section("CSI-CTRL-019")[0].isdigit()


@pytest.mark.parametrize("id", ["CSI-NONE-001", "TOY-A-001", "", "../x-1"])
def test_an_unknown_id_has_no_section(id: str) -> None:
    """A suite of somebody else has no catalogue here."""
    assert catalogue.section(id) == ""


def test_a_name_is_ours_only_where_the_user_has_no_such_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--expect csi-driver-host-path` and `--expect ./mine.toml` are both taken."""
    monkeypatch.chdir(tmp_path)
    ours = fixtures.locate("csi-driver-host-path", "targets")
    assert ours == fixtures.folder() / "targets" / "csi-driver-host-path.toml"
    assert fixtures.locate("nowhere", "targets") == Path("nowhere")
    Path("csi-driver-host-path").touch()
    assert fixtures.locate("csi-driver-host-path", "targets") == Path("csi-driver-host-path")
