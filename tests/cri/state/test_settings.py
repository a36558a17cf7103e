"""The table of what runtimes do differently."""

from __future__ import annotations

import pytest

from refimpl.cri.state import RuntimeSettings
from refimpl.cri.state.settings import PROFILES, divergences


def test_each_row_has_a_value_for_each_profile_and_a_source() -> None:
    """And differs somewhere: what is the same everywhere is no choice."""
    for path, row in divergences().items():
        assert set(row.values) == set(PROFILES), path
        assert len(set(map(str, row.values.values()))) > 1, path
        assert row.source, path


def test_strict_is_what_comes_without_a_word() -> None:
    """The text to the letter."""
    assert RuntimeSettings.of("strict") == RuntimeSettings()
    assert len({RuntimeSettings.of(profile) for profile in PROFILES}) == len(PROFILES)


def test_a_setting_is_changed_by_its_path() -> None:
    """As `--set` gives it, or as Python has it."""
    settings = RuntimeSettings().with_(
        **{
            "sandboxes.duplicate": "existing",
            "images.filters": "false",
            "runtime.without": "Status,Version",
        }
    )
    assert settings.sandboxes.duplicate == "existing"
    assert settings.images.filters is False
    assert settings.runtime.without == ("Status", "Version")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("sandboxes.duplicat", "refused", "there is no setting"),
        ("duplicate", "refused", "there is no setting"),
        ("sandboxes.duplicate", "maybe", "sandboxes.duplicate=maybe"),
        ("images.filters", "maybe", "images.filters=maybe"),
    ],
)
def test_a_wrong_word_is_named(path: str, value: str, words: str) -> None:
    """With what there is."""
    with pytest.raises(ValueError, match=words):
        RuntimeSettings().with_(**{path: value})
    with pytest.raises(ValueError, match="strict, containerd"):
        RuntimeSettings.of("kata")
