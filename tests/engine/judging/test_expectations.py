"""Known failures of a real target."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine import fixtures
from conformance.engine.judging import expectations
from conformance.engine.options import BadOption

ENTRY = """
[[known]]
id = "CSI-LV-006"
reason = "lists everything"
rule = "CSI ListVolumes"
"""


def _file(folder: Path, text: str, name: str = "known.toml") -> Path:
    path = folder / name
    path.write_text(f'target = "x"\n{text}')
    return path


def test_entries_are_found_by_id(tmp_path: Path) -> None:
    """Several files add up."""
    other = ENTRY.replace("006", "008")
    paths = [_file(tmp_path, ENTRY), _file(tmp_path, other, "more.toml")]
    assert set(expectations.load(paths)) == {"CSI-LV-006", "CSI-LV-008"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("known = 1", "known"),
        ("[[known]]\nid = 'CSI-LV-006'", "reason"),
        (ENTRY + "whim = 1", "whim"),
        (ENTRY + ENTRY, "listed twice"),
        ("[[", "invalid"),
    ],
)
def test_a_file_that_says_too_little_or_too_much_is_refused(
    tmp_path: Path, text: str, sentence: str
) -> None:
    """The message names file and field."""
    with pytest.raises(BadOption, match=r"known\.toml") as bad:
        expectations.load([_file(tmp_path, text)])
    assert sentence in str(bad.value).lower()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the option it was given to."""
    with pytest.raises(BadOption, match=r"--expect .*nowhere"):
        expectations.load([tmp_path / "nowhere.toml"])


class TestInclude:
    def test_what_several_targets_share_is_said_once(self, tmp_path: Path) -> None:
        """A file beside it is named as one of ours is: without folder and ending."""
        _file(tmp_path, ENTRY, "shared.toml")
        own = _file(tmp_path, 'include = ["shared"]' + ENTRY.replace("006", "008"))
        assert set(expectations.load([own])) == {"CSI-LV-006", "CSI-LV-008"}

    def test_a_file_of_ours_can_be_included_from_anywhere(self, tmp_path: Path) -> None:
        """So that a user's own findings about a known plugin add up with ours."""
        own = _file(tmp_path, 'include = ["cni-reference"]' + ENTRY)
        ours = expectations.load([fixtures.locate("cni-reference", "expectations")])
        assert set(expectations.load([own])) == {"CSI-LV-006", *ours}

    def test_a_file_counts_once_however_many_include_it(self, tmp_path: Path) -> None:
        """Also where files include each other."""
        _file(tmp_path, 'include = ["known.toml"]' + ENTRY, "shared.toml")
        own = _file(tmp_path, 'include = ["shared"]')
        other = _file(tmp_path, 'include = ["shared"]', "other.toml")
        assert list(expectations.load([own, other])) == ["CSI-LV-006"]

    def test_an_entry_that_the_included_file_has_is_refused(self, tmp_path: Path) -> None:
        """Nobody would know which of two reasons holds."""
        _file(tmp_path, ENTRY, "shared.toml")
        own = _file(tmp_path, 'include = ["shared"]' + ENTRY)
        with pytest.raises(BadOption, match=r"known\.toml: CSI-LV-006 is listed twice"):
            expectations.load([own])

    def test_an_included_file_that_is_missing_is_named_with_the_one_that_wants_it(
        self, tmp_path: Path
    ) -> None:
        """The user typed only the name of the latter."""
        own = _file(tmp_path, 'include = ["nowhere"]')
        with pytest.raises(BadOption, match=r"known\.toml: include nowhere"):
            expectations.load([own])


def test_an_entry_may_hold_for_some_versions_or_revisions_only(tmp_path: Path) -> None:
    """Both are compared where both are given; a target that tells no version has its revision."""
    path = _file(tmp_path, ENTRY + 'versions = "<2"\nrevisions = "<1.1"\n')
    assert expectations.load([path], "1.10", "cni-1.0.0")
    assert expectations.load([path], "", "cni-1.0.0")
    assert not expectations.load([path], "", "cni-1.1.0")
    assert not expectations.load([path], "2.0", "cni-1.0.0")


@pytest.mark.parametrize(
    ("versions", "version", "holds"),
    [
        ("", "1.2", True),
        (">=1.17", "", True),
        (">=1.17", "v1.17.0", True),
        (">=1.17,<2", "2.0", False),
        ("==1.17", "1.17.0", True),
        ("<1.17", "1.9", True),
        ("!=1.17", "1.17", False),
        (">=1.1,<2", "cni-1.1.0", True),
    ],
)
def test_a_range_of_versions_compares_numbers(versions: str, version: str, holds: bool) -> None:
    """1.9 is older than 1.17."""
    assert expectations.applies(versions, version) is holds


def test_a_range_of_another_form_is_refused() -> None:
    """Not silently true."""
    with pytest.raises(BadOption, match="about 1"):
        expectations.applies("about 1", "1.2")


def test_our_own_files_can_be_read() -> None:
    """They travel in the wheel; one may be a topic of which nothing is known."""
    paths = sorted((fixtures.folder() / "expectations").glob("*.toml"))
    read = {path.stem: expectations.load([path]) for path in paths}
    assert read["csi-driver-host-path"]


def test_a_file_without_entries_is_a_file(tmp_path: Path) -> None:
    """All that was known of a topic is mended: who includes the file need not change."""
    (tmp_path / "mended.toml").write_text('target = "ours"\n')
    path = _file(tmp_path, 'include = ["mended"]' + ENTRY)
    assert list(expectations.load([path])) == ["CSI-LV-006"]
    assert expectations.load([tmp_path / "mended.toml"]) == {}
