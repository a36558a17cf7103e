"""What the mounts of a container may be (CRI v1 Mount)."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state.settings.mounts import MountChoices
from refimpl.wire.status import Code, Refused

__all__ = ["check"]

_OPTIONS = ("noexec", "nosuid", "nodev")


def check(mount: pb.Mount, choices: MountChoices) -> None:
    """INVALID_ARGUMENT for what no mount can be."""
    if not mount.container_path:
        raise _invalid("a mount has no container_path: it says where it is to be")
    about = f"the mount at {mount.container_path}"
    if mount.HasField("image"):
        _check_volume(mount, about, choices)
    elif not mount.host_path:
        raise _invalid(f"{about} has neither host_path nor image: it has one of them")
    if mount.propagation not in pb.MountPropagation.values():
        raise _invalid(f"{about} has propagation {mount.propagation}, which is none")
    unknown = sorted({*mount.mount_options} - {*_OPTIONS})
    if unknown and choices.options:
        raise _invalid(f"{about} has mount_options {unknown}: there are {', '.join(_OPTIONS)}")
    if mount.recursive_read_only:
        if not mount.readonly:
            raise _invalid(f"{about} has recursive_read_only without readonly: set both")
        if mount.propagation != pb.PROPAGATION_PRIVATE:
            raise _invalid(f"{about} has recursive_read_only: its propagation has to be private")


def _check_volume(mount: pb.Mount, about: str, choices: MountChoices) -> None:
    if mount.host_path and choices.volume_and_path == "refused":
        raise _invalid(f"{about} has both image and host_path: it has one of them")
    if not mount.readonly and choices.volume_writable == "refused":
        raise _invalid(f"{about} is of an image and not readonly: nobody can write to an image")


def _invalid(message: str) -> Refused:
    return Refused(Code.INVALID_ARGUMENT, message)
