"""refimpl.csi.storage.bounds: a driver of root mounts below one directory and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl.csi.state.models import VolumeCapability
from refimpl.csi.storage import Bounds, Mode, mounts
from refimpl.csi.storage.bounds import ANYWHERE
from refimpl.wire.status import Code, Refused
from tests.csi.storage.conftest import Open

MODES: list[Mode] = ["directory", "bind", "loop"]


@pytest.fixture
def below(tmp_path: Path) -> Path:
    """The directory, with another beside it and links between the two."""
    for name in ("below/pod", "elsewhere", "belowground"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "below" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "below" / "within").symlink_to(tmp_path / "below" / "pod")
    (tmp_path / "below" / "file").touch()
    return tmp_path / "below"


@pytest.mark.parametrize("path", ["t", "pod/t", "pod//t", "./pod/t", "missing/t", "link", "within"])
def test_a_path_below_is_taken(path: str, below: Path) -> None:
    """A link as its last name is not followed by whoever uses it, and a missing parent is told by
    whoever needs it."""
    Bounds(str(below)).check(f"{below}/{path}")


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", ".", "..", "../elsewhere/t", "../belowground/t", "pod/../../elsewhere/t"),
        *("pod/../t", "link/t", "within/t", "link/../t", "file/t"),
    ],
)
def test_a_path_elsewhere_or_through_a_link_is_refused(path: str, below: Path) -> None:
    """Also one that would lead back: what a link says now it need not say at the mount."""
    with pytest.raises(Refused) as caught:
        Bounds(str(below)).check(f"{below}/{path}")
    assert caught.value.code == Code.INVALID_ARGUMENT
    for outside in ("/etc/t", f"{below}ground/t", "relative/t", ""):
        with pytest.raises(Refused, match="is not below"):
            Bounds(str(below)).check(outside)


def test_the_directory_itself_may_be_named_through_a_link(below: Path, tmp_path: Path) -> None:
    """/var/run is one nearly everywhere; both spellings are taken then."""
    (tmp_path / "run").symlink_to(below)
    bounds = Bounds(str(tmp_path / "run"))
    bounds.check(f"{tmp_path}/run/pod/t")
    bounds.check(f"{below}/pod/t")


def test_the_directory_has_to_be_there(tmp_path: Path) -> None:
    """A name with a slip would refuse everything, later."""
    for name in ("none", "file"):
        (tmp_path / "file").touch()
        with pytest.raises(ValueError, match=f"{name}: there is no such directory"):
            Bounds(str(tmp_path / name))


def test_without_bounds_every_path_is_taken() -> None:
    """As before."""
    ANYWHERE.check("/etc/t")
    with ANYWHERE.pinned("/etc") as path:
        assert path == "/etc"


def test_what_is_pinned_stays_where_it_is(below: Path, tmp_path: Path) -> None:
    """Though somebody puts a link in its place."""
    bounds = Bounds(str(below))
    with bounds.pinned(f"{below}/pod") as pinned:
        (below / "pod").rename(below / "moved")
        (below / "pod").symlink_to(tmp_path / "elsewhere")
        assert os.path.samefile(pinned, below / "moved")
    (tmp_path / "elsewhere" / "t").mkdir()
    for swapped in (f"{below}/link/t", f"{below}/pod/t"):
        with pytest.raises(Refused, match="is not below"), bounds.pinned(swapped):
            pass


@pytest.mark.parametrize("mode", MODES)
def test_a_storage_works_below_and_nowhere_else(
    mode: Mode,
    opened: Open,
    below: Path,
    tmp_path: Path,
    mounted: Callable[..., VolumeCapability],
) -> None:
    """Nothing is made, mounted or removed out of bounds, be it by undoing."""
    storage = opened(mode, Bounds(str(below)))
    storage.provision("v", "mount", 1 << 24, None)
    elsewhere = tmp_path / "elsewhere"
    for path in (str(elsewhere), str(below / "link" / "t")):
        with pytest.raises(Refused, match="INVALID_ARGUMENT"):
            storage.publish("v", path, mounted("noatime"), False, "")
        with pytest.raises(Refused, match="INVALID_ARGUMENT"):
            storage.unpublish("v", path)
        with pytest.raises(Refused, match="INVALID_ARGUMENT"):
            storage.stage("v", path, mounted())
    assert os.listdir(elsewhere) == []
    assert not [each for each in mounts.table() if each.point.startswith(str(elsewhere))]
    staging, target = str(below / "pod"), str(below / "t")
    storage.stage("v", staging, mounted())
    storage.publish("v", target, mounted("noatime"), mode != "directory", staging)
    assert storage.holds("v", target)
    storage.unpublish("v", target)
    storage.unstage("v", staging)
    assert not [each for each in mounts.table() if each.point.startswith(str(below))]


@pytest.mark.parametrize("mode", ["bind", "loop"])
def test_a_staging_path_that_is_a_link_is_not_mounted_on(
    mode: Mode, opened: Open, below: Path, mounted: Callable[..., VolumeCapability]
) -> None:
    """Its last name would be followed by mount(2)."""
    storage = opened(mode, Bounds(str(below)))
    storage.provision("v", "mount", 1 << 24, None)
    with pytest.raises(Refused):
        storage.stage("v", str(below / "link"), mounted())
    assert not os.path.ismount(below.parent / "elsewhere")
