"""ImageService over the socket."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from tests.cri.runtime_rig import RuntimeRig, container_config

NAME = "example.com/a:1"
SPEC = pb.ImageSpec(image=NAME)


def listed(rig: RuntimeRig, image: str = "") -> list[str]:
    """Ids of the images that a filter fits."""
    wanted = pb.ImageFilter(image=pb.ImageSpec(image=image))
    asked = pb.ListImagesRequest(filter=wanted)
    return [each.id for each in rig.images.ListImages(asked).images]


def test_an_image_has_the_same_id_everywhere(rig: RuntimeRig) -> None:
    """CRI: PullImage, Image, Container and ContainerStatus agree."""
    pulled = rig.images.PullImage(pb.PullImageRequest(image=SPEC)).image_ref
    for asked in (SPEC, pb.ImageSpec(image=pulled)):
        found = rig.images.ImageStatus(pb.ImageStatusRequest(image=asked)).image
        assert (found.id, list(found.repo_tags)) == (pulled, [NAME])
        assert found.size > 0
    made = rig.create(rig.sandbox(), container_config(image=pb.ImageSpec(image=pulled)))
    assert rig.status(made).image_id == pulled
    assert listed(rig) == listed(rig, NAME) == listed(rig, pulled) == [pulled]
    assert listed(rig, "example.com/b:1") == []


def test_removed_images_take_no_room(rig: RuntimeRig) -> None:
    """Removing is repeatable; file systems have a time and a path that exists."""
    rig.images.PullImage(pb.PullImageRequest(image=SPEC))
    used = []
    for _ in range(3):
        (usage,) = rig.images.ImageFsInfo(pb.ImageFsInfoRequest()).image_filesystems
        assert usage.timestamp > 0
        assert usage.fs_id.mountpoint == "/"
        used.append(usage.used_bytes.value)
        rig.images.RemoveImage(pb.RemoveImageRequest(image=SPEC))
    assert used[0] > 0
    assert used[1:] == [0, 0]
    assert listed(rig) == []
