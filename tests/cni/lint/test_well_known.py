"""Configurations in the shape in which projects ship them are clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from refimpl.cni.lint import Severity, lint_bytes

KNOWN = sorted((Path(__file__).parent / "well_known").iterdir())


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.name)
def test_a_well_known_configuration_is_clean(path: Path) -> None:
    """Who is warned of what thousands run stops reading warnings."""
    findings = lint_bytes(path.read_bytes(), name=path.name).findings
    assert [str(one) for one in findings if one.severity is not Severity.INFO] == []
