"""Commands of the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine import hooks
from conformance.engine.hooks import run_hook
from conformance.engine.options import BadOption


def test_a_hook_is_run(tmp_path: Path) -> None:
    """And waited for."""
    run_hook("hooks.mend", ["touch", str(tmp_path / "done")])
    assert (tmp_path / "done").exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["no-such-command"], "hooks.mend: no-such-command: No such file or directory"),
        (["sh", "-c", "echo why >&2; exit 3"], "hooks.mend: ended with 3: why"),
    ],
)
def test_a_hook_that_fails_is_told(command: list[str], said: str) -> None:
    """A case that goes on would judge a node in which nothing has happened."""
    with pytest.raises(BadOption, match=said):
        run_hook("hooks.mend", command)


def test_a_hook_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time."""
    monkeypatch.setattr(hooks, "HOOK_S", 0.05)
    with pytest.raises(BadOption, match=r"did not end within 0\.05 s"):
        run_hook("hooks.mend", ["sleep", "60"])
