"""Directories that the suite makes for a driver."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from conformance.csi.paths import CommandPaths, LocalPaths, paths_for
from conformance.csi.settings import CsiSettings
from conformance.engine.options import BadOption


@pytest.fixture(autouse=True)
def _temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test does not close goes with the other folders of tests."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("temporary")))


@pytest.fixture
def paths(tmp_path: Path) -> LocalPaths:
    """Below directories of the user's choice."""
    return LocalPaths(CsiSettings(staging_dir=str(tmp_path / "s"), target_dir=str(tmp_path / "t")))


def test_a_staging_path_is_there_and_a_target_is_not(paths: LocalPaths, tmp_path: Path) -> None:
    """CSI: the calling side makes the staging directory and the parent of the target."""
    staging, target = paths.staging("a"), paths.target("a")
    assert staging == str(tmp_path / "s" / "a")
    assert target == str(tmp_path / "t" / "a")
    assert os.listdir(staging) == []
    assert os.path.isdir(os.path.dirname(target))
    assert not os.path.lexists(target)


def test_a_path_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CSI wants it so, whatever the user has typed."""
    monkeypatch.chdir(tmp_path)
    paths = LocalPaths(CsiSettings(staging_dir="s", target_dir="t"))
    assert os.path.isabs(paths.staging("a"))
    assert os.path.isabs(paths.target("a"))


def test_what_lies_at_a_path_is_told(paths: LocalPaths, tmp_path: Path) -> None:
    """In the four words of csi-sanity; a link is what it leads to."""
    target = Path(paths.target("a"))
    assert paths.kind(str(target)) == "not_found"
    assert paths.kind(str(target.parent)) == "directory"
    target.write_text("x")
    assert paths.kind(str(target)) == "file"
    link = tmp_path / "link"
    link.symlink_to(target)
    assert paths.kind(str(link)) == "file"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "sock"))
        assert paths.kind(str(tmp_path / "sock")) == "other"


def test_what_was_made_is_removed(paths: LocalPaths, tmp_path: Path) -> None:
    """Also where the driver has made the target, or has removed all of it."""
    staging, target = paths.staging("a"), paths.target("a")
    os.mkdir(target)
    for path in (staging, target, target):
        paths.release(path)
    assert os.listdir(tmp_path / "s") == os.listdir(tmp_path / "t") == []


def test_what_a_driver_has_left_is_not_removed(paths: LocalPaths) -> None:
    """Its data is not ours to delete, nor are files behind a link."""
    staging, target = paths.staging("a"), paths.target("a")
    Path(staging, "data").write_text("x")
    os.symlink(staging, target)
    paths.release(staging)
    paths.release(target)
    assert Path(staging, "data").read_text() == "x"
    assert os.path.islink(target)


def test_a_home_of_our_own_goes_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless something is left in it, or somebody was faster."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    paths = LocalPaths(CsiSettings())
    paths.release(paths.staging("a"))
    paths.close()
    assert os.listdir(tmp_path) == []
    paths.close()
    left = LocalPaths(CsiSettings())
    staging = left.staging("a")
    left.close()
    assert os.path.isdir(staging)


def test_a_directory_that_cannot_be_made_is_a_usage_error(tmp_path: Path) -> None:
    """With the reason."""
    (tmp_path / "file").touch()
    with pytest.raises(BadOption, match="Not a directory"):
        LocalPaths(CsiSettings(staging_dir=str(tmp_path / "file" / "s")))


@pytest.fixture
def program(tmp_path: Path) -> object:
    """Makes programs that log their argument and do what a line of shell says."""

    def make(name: str, line: str) -> str:
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\necho "{name} $1" >> {tmp_path}/log\n{line}\n')
        path.chmod(0o755)
        return str(path)

    return make


def _log(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().splitlines()


def test_commands_of_the_user_make_and_remove_paths(tmp_path: Path, program: object) -> None:
    """They print the path to use; staging and target have commands of their own."""
    chosen = CsiSettings(
        make_staging=program("stage", 'echo "/far$1"'),  # type: ignore[operator]
        make_target=program("publish", 'echo "/far$1"'),  # type: ignore[operator]
        remove_staging=program("unstage", "true"),  # type: ignore[operator]
        remove_target=program("unpublish", "true"),  # type: ignore[operator]
        check_path=program("check", "echo directory"),  # type: ignore[operator]
        staging_dir="/s",
    )
    paths = paths_for(chosen, local=True)
    assert isinstance(paths, CommandPaths)
    assert not paths.visible
    staging, target = paths.staging("a"), paths.target("b")
    assert (staging, target) == ("/far/s/a", "/far/tmp/refimpl-csi/b/mount")
    assert paths.kind(target) == "directory"
    paths.release(staging)
    paths.release(target)
    paths.close()
    assert _log(tmp_path) == [
        "stage /s/a",
        "publish /tmp/refimpl-csi/b",
        "check /far/tmp/refimpl-csi/b/mount",
        "unstage /far/s/a",
        "unpublish /far/tmp/refimpl-csi/b",
    ]


def test_without_a_command_that_checks_nothing_is_known(program: object) -> None:
    """And nothing is removed without one that removes."""
    paths = CommandPaths(CsiSettings(make_target=program("publish", "echo /x")))  # type: ignore[operator]
    assert paths.kind("/x") == "other"
    paths.release(paths.target("a"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("exit 3", "ended with 3"),
        ("true", "has to print the path"),
        ("exec sleep 60", "did not end within 0.05 s"),
    ],
)
def test_a_command_that_fails_is_a_usage_error(program: object, line: str, words: str) -> None:
    """It names the command; an empty path would go to the driver as if it were one."""
    chosen = CsiSettings(make_staging=program("stage", line), make_timeout_s=0.05)  # type: ignore[operator]
    if "within" not in words:
        chosen.make_timeout_s = 30
    with pytest.raises(BadOption, match=f"stage .*{words}"):
        CommandPaths(chosen).staging("a")


def test_a_check_says_one_of_four_words(program: object) -> None:
    """Anything else is a mistake of the command."""
    paths = CommandPaths(CsiSettings(check_path=program("check", "echo dir")))  # type: ignore[operator]
    with pytest.raises(BadOption, match=r"'dir'.*file, directory, not_found or other"):
        paths.kind("/x")


@pytest.mark.parametrize(
    ("local", "same_host", "there"),
    [(True, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
def test_a_unix_socket_means_the_same_host_unless_told(
    local: bool, same_host: bool | None, there: bool
) -> None:
    """A socket may be forwarded, and TCP may be local."""
    paths = paths_for(CsiSettings(same_host=same_host), local=local)
    assert (paths is not None) == there
    if paths:
        paths.close()


def test_half_of_the_commands_or_a_missing_one_is_a_usage_error() -> None:
    """Before the run."""
    with pytest.raises(BadOption, match="go together"):
        paths_for(CsiSettings(make_target="true"), local=True)
    with pytest.raises(BadOption, match="no-such-program"):
        paths_for(CsiSettings(make_target="true", make_staging="no-such-program"), local=True)
