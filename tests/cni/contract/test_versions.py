"""Versions and verbs."""

from __future__ import annotations

import pytest

from refimpl.cni.contract import LATEST, SINCE, VERSIONS, Verb, at_least, version_key


def test_versions_ascend_to_the_latest() -> None:
    """Whoever walks over them goes from the oldest to the newest."""
    assert sorted(VERSIONS, key=version_key) == list(VERSIONS)
    assert VERSIONS[-1] == LATEST


def test_no_version_is_the_first_one() -> None:
    """An absent cniVersion has always meant 0.1.0."""
    assert version_key("") == (0, 1, 0)


def test_versions_compare_as_numbers_not_as_text() -> None:
    """0.10.0 is later than 0.4.0."""
    assert at_least("0.10.0", "0.4.0")
    assert at_least("0.4.0", "0.4.0")
    assert not at_least("0.3.1", "0.4.0")


@pytest.mark.parametrize(
    "text", ["1", "1.0", "1.0.0.0", "v1.0.0", "1.1.0-rc1", "01.0.0", "-1.0.0", "1.0.0\n", "١.0.0"]
)
def test_a_near_miss_is_no_version(text: str) -> None:
    """The protocol compares whole strings; a lenient reading would hide a mismatch."""
    with pytest.raises(ValueError, match="three numbers"):
        version_key(text)


def test_every_verb_came_with_a_version() -> None:
    """The table covers all six, and is asked with plain text too."""
    assert {verb: SINCE[verb] for verb in Verb} == dict(SINCE)
    assert (SINCE[Verb("CHECK")], SINCE[Verb("GC")]) == ("0.4.0", "1.1.0")
