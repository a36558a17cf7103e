"""What the tests of the services share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cri.runtime_rig import RuntimeRig


@pytest.fixture
def rig() -> Iterator[RuntimeRig]:
    """A runtime that serves, with a handler besides the default one."""
    with RuntimeRig(handlers=("", "other")) as rig:
        yield rig
