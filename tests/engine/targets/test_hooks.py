"""Commands of the user, and functions in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.options import BadOption
from conformance.engine.targets import hooks
from conformance.engine.targets.hooks import Hooks


def test_a_command_is_run_with_its_words_filled_in(tmp_path: Path) -> None:
    """And waited for; braces that nobody fills stay."""
    Hooks({"mend": ["touch", f"{tmp_path}/{{id}}-{{other}}"]}).run("mend", id="a", more="b")
    assert (tmp_path / "a-{other}").exists()


def test_a_function_gets_the_values_by_name() -> None:
    """Our fake is changed by its own methods; the case that asks cannot tell."""
    changes: list[dict[str, object]] = []
    Hooks({"mend": lambda **values: changes.append(values)}).run("mend", id="a")
    assert changes == [{"id": "a"}]


def test_an_empty_command_is_none() -> None:
    """As a target file leaves it; of a pair both have to be there."""
    some = Hooks({"break": ["true"], "mend": [], "hold": lambda: None})
    assert some.has("break")
    assert some.has("hold", "break")
    assert not some.has("mend")
    assert not some.has("break", "mend")
    assert not some.has("reboot")


def test_a_hook_tells_what_it_takes() -> None:
    """A command without a placeholder does the same whatever the value."""
    some = Hooks({"break": ["sh", "break.sh", "{reason}"], "hold": lambda **_: None})
    assert some.takes("break", "reason")
    assert not some.takes("break", "node")
    assert some.takes("hold", "node")
    assert not some.takes("mend", "reason")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["no-such-command"], "hooks.mend: no-such-command: No such file or directory"),
        (["sh", "-c", "echo why >&2; exit 3"], "hooks.mend: ended with 3: why"),
    ],
)
def test_a_hook_that_fails_is_told(command: list[str], words: str) -> None:
    """A case that goes on would judge a node in which nothing has happened."""
    with pytest.raises(BadOption, match=words):
        Hooks({"mend": command}).run("mend")


def test_a_hook_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time."""
    monkeypatch.setattr(hooks, "HOOK_S", 0.05)
    with pytest.raises(BadOption, match=r"did not end within 0\.05 s"):
        Hooks({"mend": ["sleep", "60"]}).run("mend")
