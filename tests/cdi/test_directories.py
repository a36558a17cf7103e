"""What is found in directories, and what keeps nothing else from being found."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl.cdi import directories
from refimpl.cdi.directories import DirectoryScanner, scan, signature, spec_paths

Put = Callable[..., Path]  # see conftest.py


def names(listing: directories.Scan) -> list[str]:
    """The files that loaded."""
    return [Path(file.path).name for file in listing.files if file.spec]


def test_only_two_endings_are_files_of_devices(put: Put, tmp_path: Path) -> None:
    """CDI-034: in the order of names; directories are not entered. A leading dot hides nothing."""
    for name in ("b.json", "a.yaml", ".c.json", "d.yml", "e.JSON", "spec.1.tmp", "f", "sub/g.json"):
        put(f"cdi/{name}")
    (tmp_path / "cdi" / "h.json").mkdir()
    paths = spec_paths(str(tmp_path / "cdi"))
    assert [Path(path).name for path in paths] == [".c.json", "a.yaml", "b.json"]


def test_the_place_in_the_list_is_the_priority(put: Put, tmp_path: Path) -> None:
    """The later one wins."""
    put("etc/a.json")
    put("run/a.json")
    listing = scan([tmp_path / "etc", tmp_path / "run"])
    assert [(Path(file.path).parent.name, file.priority) for file in listing.files] == [
        ("etc", 0),
        ("run", 1),
    ]


def test_a_directory_that_cannot_be_read_hides_no_other(put: Put, tmp_path: Path) -> None:
    """CDI-033: missing ones are nothing to tell of; a file and a loop of links are."""
    put("run/a.json")
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    listing = scan([tmp_path / name for name in ("missing", "file", "loop", "run")])
    assert names(listing) == ["a.json"]
    assert set(listing.errors) == {str(tmp_path / "file"), str(tmp_path / "loop")}
    assert "cannot be read" in listing.errors[str(tmp_path / "loop")]


def test_a_directory_without_the_right_to_read_it_is_told(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CDI-033: root reads everything, so the refusal is played."""
    put("run/a.json")
    real = os.scandir

    def refusing(path: str) -> object:
        if path == str(tmp_path / "etc"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(directories.os, "scandir", refusing)
    listing = scan([tmp_path / "etc", tmp_path / "run"])
    assert names(listing) == ["a.json"]
    assert "Permission denied" in listing.errors[str(tmp_path / "etc")]


def test_a_directory_may_be_a_link(put: Put, tmp_path: Path) -> None:
    """/var/run is one."""
    put("real/a.json")
    (tmp_path / "link").symlink_to("real")
    assert names(scan([tmp_path / "link"])) == ["a.json"]


def test_a_broken_file_is_the_only_one_that_does_not_load(put: Put, tmp_path: Path) -> None:
    """CDI-035."""
    for number in range(9):
        put(f"cdi/{number}.json")
    (tmp_path / "cdi" / "5a.json").write_text("{")
    listing = scan([tmp_path / "cdi"])
    assert len(names(listing)) == 9
    (broken,) = (file for file in listing.files if not file.spec)
    assert Path(broken.path).name == "5a.json"


def test_an_unchanged_file_is_not_read_again(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node with a thousand files looks at one of them when one changes."""
    path, other_path = put("cdi/a.json"), put("cdi/b.json")
    os.utime(path, (1, 1))
    os.utime(other_path, (1, 1))
    scanner = DirectoryScanner()
    first = scanner.scan([tmp_path / "cdi"])
    loads: list[str] = []
    real = directories.load

    def counting(path: str, **options: object) -> object:
        loads.append(path)
        return real(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(directories, "load", counting)
    path.write_text(path.read_text() + "\n")
    second = scanner.scan([tmp_path / "cdi"])
    assert loads == [str(path)]
    assert second.files[1] is first.files[1]
    other_path.unlink()
    assert names(scanner.scan([tmp_path / "cdi"])) == ["a.json"]


def test_a_file_that_changed_just_now_is_read_again(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two changes within one tick of the file system's clock leave the same signature."""
    just_now = (1, 1, 1, time.time_ns() + 10**12, 1)
    monkeypatch.setattr(directories, "signature", lambda _: just_now)
    scanner = DirectoryScanner()
    for kind in ("a.com/gpu", "b.com/gpu"):
        put("cdi/a.json", kind=kind)
        (file,) = scanner.scan([tmp_path / "cdi"]).files
        assert file.spec is not None
        assert file.spec.kind == kind


def test_a_signature_is_that_of_the_content(put: Put, tmp_path: Path) -> None:
    """Of what a link leads to; of what is missing there is none."""
    path = put("a.json")
    (tmp_path / "link.json").symlink_to("a.json")
    assert signature(str(path)) == signature(str(tmp_path / "link.json"))
    assert signature(str(tmp_path / "missing.json")) is None
