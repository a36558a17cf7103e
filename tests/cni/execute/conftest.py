"""Small plugins in shell, since what is tested is what processes do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """Makes an executable shell script of the given lines."""

    def make(lines: str) -> Path:
        path = tmp_path / "plugin"
        path.write_text(f"#!/bin/sh\n{lines}\n")
        path.chmod(0o755)
        return path

    return make
