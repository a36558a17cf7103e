"""ImageService over the socket."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from tests.cri.runtime_rig import RuntimeRig, container_config

NAME = "example.com/a:1"


def listed(rig: RuntimeRig, image: str = "") -> list[str]:
    """Ids of the images that a filter fits."""
    selected = pb.ImageFilter(image=pb.ImageSpec(image=image))
    request = pb.ListImagesRequest(filter=selected)
    return [each.id for each in rig.images.ListImages(request).images]


def test_an_image_has_the_same_id_everywhere(rig: RuntimeRig) -> None:
    """CRI: PullImage, Image, Container and ContainerStatus agree."""
    pulled = rig.cri.pull_image(NAME)
    for name in (NAME, pulled):
        image = rig.cri.image_status(name)
        assert image is not None
        assert (image.id, list(image.repo_tags)) == (pulled, [NAME])
        assert image.size > 0
    container_id = rig.create(rig.sandbox(), container_config(image=pulled))
    assert rig.status(container_id).image_id == pulled
    assert listed(rig) == listed(rig, NAME) == listed(rig, pulled) == [pulled]
    assert listed(rig, "example.com/b:1") == []


def test_removed_images_take_no_room(rig: RuntimeRig) -> None:
    """Removing is repeatable; file systems have a time and a path that exists."""
    rig.cri.pull_image(NAME)
    used = []
    for _ in range(3):
        (usage,) = rig.images.ImageFsInfo(pb.ImageFsInfoRequest()).image_filesystems
        assert usage.timestamp > 0
        assert usage.fs_id.mountpoint == "/"
        used.append(usage.used_bytes.value)
        rig.images.RemoveImage(pb.RemoveImageRequest(image=pb.ImageSpec(image=NAME)))
    assert used[0] > 0
    assert used[1:] == [0, 0]
    assert listed(rig) == []
