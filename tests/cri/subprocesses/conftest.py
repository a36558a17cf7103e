"""A runtime of real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cri.runtime_rig import RuntimeRig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[RuntimeRig]:
    """One that serves; all that it has started goes with it."""
    with RuntimeRig(model="subprocess", state_dir=tmp_path / "state") as rig:
        yield rig
        rig.fake.close()
