"""The machine that virtual containers see: mounts and files, over the socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.virtual.machine.places import HostPath
from refimpl.wire.status import Refused
from tests.cri.runtime_rig import IMAGE, RuntimeRig
from tests.cri.virtual.test_worlds import container, said, secured

INWARD, BOTH = pb.PROPAGATION_HOST_TO_CONTAINER, pb.PROPAGATION_BIDIRECTIONAL


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
    said(rig, id, "sh", "-c", "echo again >> /data/out && touch /data/out")
    assert (tmp_path / "out").read_text() == "inside\nagain\n"
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


def mounted(rig: RuntimeRig, name: str, *mounts: pb.Mount) -> str:
    """A privileged container with these mounts."""
    metadata = pb.ContainerMetadata(name=name)
    pod = pb.PodSandboxConfig(metadata=pb.PodSandboxMetadata(name=name, uid=name))
    pod.linux.security_context.privileged = True
    return container(rig, pod, metadata=metadata, mounts=mounts, linux=secured(privileged=True))


def test_mounts_go_out_of_one_container_into_the_other(tmp_path: Path) -> None:
    """And from the node into both; a private one has what was there before."""
    with RuntimeRig() as rig:
        both = mounted(rig, "both", at("/data", tmp_path, propagation=BOTH))
        inward = mounted(rig, "inward", at("/data", tmp_path, propagation=INWARD))
        private = mounted(rig, "private", at("/data", tmp_path))
        (tmp_path / "sub").mkdir()
        assert said(rig, both, "mount", "-t", "tmpfs", "none", "/data/sub") == ""
        assert said(rig, both, "touch", "/data/sub/mark") == ""
        assert said(rig, inward, "ls", "/data/sub/mark") == "/data/sub/mark\n"
        assert "No such file" in said(rig, private, "ls", "/data/sub/mark")
        assert said(rig, both, "umount", "/data/sub") == ""
        assert "No such file" in said(rig, inward, "ls", "/data/sub/mark")
        assert not [*(tmp_path / "sub").iterdir()], "nothing is done to this machine"


def test_folders_are_made_and_bound(rig: RuntimeRig, tmp_path: Path) -> None:
    """In volumes as on this machine; and what a container binds there stays in it."""
    id = mounted(rig, "one", at("/data", tmp_path, propagation=INWARD))
    assert said(rig, id, "mkdir", "/data/sub") == ""
    assert (tmp_path / "sub").is_dir()
    assert said(rig, id, "mkdir", "/data/sub") == "mkdir: /data/sub: File exists\n"
    assert "No such file" in said(rig, id, "mkdir", "/data/a/b")
    assert said(rig, id, "mkdir", "-p", "/data/a/b", "/data/sub", "/var/lib/new") == ""
    assert (tmp_path / "a" / "b").is_dir()
    said(rig, id, "touch", "/data/a/mark")
    assert said(rig, id, "mount", "--bind", "/data/a", "/data/sub") == ""
    assert said(rig, id, "ls", "/data/sub") == "b\nmark\n"
    assert " /data/sub " in said(rig, id, "cat", "/proc/self/mountinfo")
    assert not [*(tmp_path / "sub").iterdir()]
    assert "No such file" in said(rig, id, "mount", "--bind", "/data/a", "/data/none")
    assert said(rig, id, "umount", "/data/sub") == ""
    assert said(rig, id, "ls", "/data/sub") == ""
    assert said(rig, id, "mount", "-t", "tmpfs", "none", "/data/sub") == ""
    assert said(rig, id, "mkdir", "/data/sub/in") == ""
    assert said(rig, id, "ls", "/data/sub") == "in\n"


def test_who_may_mount(rig: RuntimeRig, tmp_path: Path) -> None:
    """A privileged one only, on the node as well; and what is not known there is refused."""
    id = container(rig, mounts=[at("/data", tmp_path)])
    refused = "Operation not permitted"
    assert refused in said(rig, id, "mount", "-t", "tmpfs", "none", "/data")
    assert refused in said(rig, id, "umount", "/data")
    assert refused in said(rig, id, "nsenter", "-t", "1", "-m", "--", "true")
    strong = mounted(rig, "strong")
    assert "Invalid argument" in said(rig, strong, "nsenter", "-t", "1", "-m", "--", "reboot")
    assert "Invalid argument" in said(rig, strong, "umount", "/nowhere")


def test_nothing_goes_out_of_a_private_mount_of_the_node(rig: RuntimeRig, tmp_path: Path) -> None:
    """It is refused before anything is made."""
    node = ("nsenter", "-t", "1", "-m", "--")
    strong = mounted(rig, "strong")
    assert said(rig, strong, *node, "mount", "--bind", str(tmp_path), str(tmp_path)) == ""
    assert said(rig, strong, *node, "mount", "--make-private", str(tmp_path)) == ""
    with pytest.raises(Refused, match="private mount"):
        mounted(rig, "both", at("/data", tmp_path, propagation=BOTH))
    assert said(rig, strong, *node, "umount", str(tmp_path)) == ""
    mounted(rig, "again", at("/data", tmp_path, propagation=BOTH))


def test_a_cgroup_follows_its_limits(rig: RuntimeRig) -> None:
    """cgroup v2: what is not limited is max."""
    id = container(rig)
    assert said(rig, id, "cat", "/sys/fs/cgroup/memory.max") == "max\n"
    limits = pb.LinuxContainerResources(
        memory_limit_in_bytes=1 << 26, memory_swap_limit_in_bytes=1 << 27, cpu_quota=5000
    )
    request = pb.UpdateContainerResourcesRequest(container_id=id, linux=limits)
    rig.runtime.UpdateContainerResources(request)
    names = ("memory.max", "memory.swap.max", "cpu.max", "cpu.weight")
    shown = said(rig, id, "cat", *(f"/sys/fs/cgroup/{name}" for name in names))
    assert shown.splitlines() == [str(1 << 26), str(1 << 26), "5000 100000", "100"]


def test_an_update_may_be_the_end_of_a_program(rig: RuntimeRig) -> None:
    """Of one that has more than it may have now."""
    id = container(rig, command=["dd", "if=/dev/zero", "of=/dev/null", "bs=20M"])
    limits = pb.LinuxContainerResources(memory_limit_in_bytes=15 << 20)
    request = pb.UpdateContainerResourcesRequest(container_id=id, linux=limits)
    rig.runtime.UpdateContainerResources(request)
    status = rig.cri.container_status(id).status
    assert (status.reason, status.exit_code) == ("OOMKilled", 137)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"cpuset_cpus": "a"}, "cpuset_cpus is 'a'"),
        ({"cpu_period": 1}, "cpu_period is 1"),
        ({"memory_limit_in_bytes": -1}, "memory_limit_in_bytes is -1"),
        ({"oom_score_adj": 1001}, "oom_score_adj is 1001"),
        ({"memory_limit_in_bytes": 9, "memory_swap_limit_in_bytes": 8}, "below memory"),
    ],
)
def test_limits_that_cannot_be(rig: RuntimeRig, limits: dict[str, object], words: str) -> None:
    """Say which, and what would be right."""
    resources = pb.LinuxContainerResources(**limits)
    with pytest.raises(Refused, match=words):
        container(rig, linux=pb.LinuxContainerConfig(resources=resources))


def test_whom_files_belong_to(rig: RuntimeRig, tmp_path: Path) -> None:
    """In a user namespace to nobody, unless the mount is idmapped."""
    ids = [pb.IDMapping(host_id=100_000, container_id=0, length=1 << 20)]
    users = pb.UserNamespace(mode=pb.POD, uids=ids, gids=ids)
    options = pb.NamespaceOption(userns_options=users)
    mounts = [at("/plain", tmp_path), at("/mapped", tmp_path, uidMappings=ids, gidMappings=ids)]
    id = container(rig, mounts=mounts, linux=secured(namespace_options=options))
    status = tmp_path.stat()
    owners = said(rig, id, "stat", "-c", "%u:%g", "/plain", "/mapped", "/etc").splitlines()
    assert owners == ["65534:65534", f"{status.st_uid}:{status.st_gid}", "0:0"]
    assert said(rig, id, "cat", "/proc/self/uid_map").split() == ["0", "100000", str(1 << 20)]
    assert "No such file" in said(rig, id, "stat", "-c", "%u", "/mapped/none")


def test_what_is_mounted_on_this_machine_is_told_from_the_rest(tmp_path: Path) -> None:
    """A read-only mount of a folder is not one of what is mounted in it."""
    assert HostPath("/").beneath("proc/self")
    assert not HostPath(str(tmp_path)).beneath("not/there/yet")


def test_an_image_that_is_made_up_has_whatever_is_asked_for(rig: RuntimeRig) -> None:
    """As its containers have it; but nothing that is outside."""
    volume = {"image": pb.ImageSpec(image=IMAGE), "container_path": "/volume", "readonly": True}
    id = container(rig, mounts=[pb.Mount(**volume, image_sub_path="etc")])
    assert said(rig, id, "cat", "/volume/passwd") == ""
    metadata = pb.ContainerMetadata(name="other")
    pod = pb.PodSandboxConfig(metadata=pb.PodSandboxMetadata(name="other", uid="other"))
    mounts = [pb.Mount(**volume, image_sub_path="../etc")]
    with pytest.raises(Refused, match="ImageVolumeMountFailed"):
        container(rig, pod, metadata=metadata, mounts=mounts)


@pytest.mark.parametrize(
    ("mode", "first", "length", "words"),
    [
        (pb.NODE, 0, 9, "mode is NODE"),
        (pb.CONTAINER, 0, 9, "mode is 1"),
        (pb.POD, 1, 9, "from 0 on"),
        (pb.POD, 0, 0, "from 0 on"),
    ],
)
def test_user_namespaces_that_cannot_be(
    rig: RuntimeRig, mode: pb.NamespaceMode.ValueType, first: int, length: int, words: str
) -> None:
    """Nobody would know whose a file is."""
    ids = [pb.IDMapping(host_id=100_000, container_id=first, length=length)]
    users = pb.UserNamespace(mode=mode, uids=ids, gids=ids)
    pod = pb.PodSandboxConfig()
    pod.linux.security_context.namespace_options.userns_options.CopyFrom(users)
    with pytest.raises(Refused, match=words):
        container(rig, pod)
