"""The machine that virtual containers see: mounts and files, over the socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.cri.api import cri_pb2 as pb
from tests.cri.runtime_rig import RuntimeRig
from tests.cri.virtual.test_worlds import container, said, secured


@pytest.fixture
def rig() -> Iterator[RuntimeRig]:
    """One that has ended with the test."""
    with RuntimeRig() as rig:
        yield rig


def at(path: str, source: Path, **more: object) -> pb.Mount:
    """A mount of this machine."""
    return pb.Mount(container_path=path, host_path=str(source), **more)


def test_a_folder_of_this_machine_is_seen_and_written(rig: RuntimeRig, tmp_path: Path) -> None:
    """From both sides."""
    (tmp_path / "in").write_text("from outside\n")
    id = container(rig, mounts=[at("/data", tmp_path)])
    assert said(rig, id, "cat", "/data/in") == "from outside\n"
    assert said(rig, id, "sh", "-c", "echo inside > /data/out && ls /data") == "in\nout\n"
    assert (tmp_path / "out").read_text() == "inside\n"
    assert said(rig, id, "rm", "/data/in") == ""
    assert not (tmp_path / "in").exists()
    assert said(rig, id, "cat", "/data/in") == "cat: /data/in: No such file or directory\n"


def test_the_deepest_mount_decides(rig: RuntimeRig, tmp_path: Path) -> None:
    """Whatever the order is in which they are asked for; and the root may be read-only."""
    for name in ("outer", "inner"):
        (tmp_path / name).mkdir()
    mounts = [at("/a/b", tmp_path / "inner"), at("/a", tmp_path / "outer", readonly=True)]
    id = container(rig, mounts=mounts, linux=secured(readonly_rootfs=True))
    assert said(rig, id, "touch", "/a/b/new") == ""
    assert (tmp_path / "inner" / "new").exists()
    assert said(rig, id, "touch", "/a/new") == "touch: /a/new: Read-only file system\n"
    assert "can't create /new: Read-only" in said(rig, id, "sh", "-c", "echo x > /new; pwd")


def test_what_leads_out_of_a_mount_is_not_there(rig: RuntimeRig, tmp_path: Path) -> None:
    """A link in a volume is no way into the machine."""
    (tmp_path / "volume").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "volume" / "link").symlink_to(tmp_path / "secret")
    id = container(rig, mounts=[at("/data", tmp_path / "volume")])
    assert "No such file" in said(rig, id, "cat", "/data/link")
    assert "No such file" in said(rig, id, "sh", "-c", "echo x > /data/link; pwd")
    assert (tmp_path / "secret").read_text() == "secret"


def test_the_table_is_in_proc(rig: RuntimeRig, tmp_path: Path) -> None:
    """With what each mount was asked to be."""
    mounts = [at("/data", tmp_path, readonly=True, propagation=pb.PROPAGATION_HOST_TO_CONTAINER)]
    lines = said(rig, container(rig, mounts=mounts), "cat", "/proc/self/mountinfo").splitlines()
    words = lines[-1].split()
    assert words[3:6] == [str(tmp_path), "/data", "ro,relatime"]
    assert words[6].startswith("master:")
