"""Images that are there because somebody asks for them."""

from __future__ import annotations

import threading

import pytest

from refimpl.cri.state.images import Images
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith


@pytest.fixture
def images() -> Images:
    """None in use."""
    return Images(threading.RLock())


def test_any_image_is_there_and_has_one_id(images: Images) -> None:
    """Kubelet asks by name, then creates with the id, and wants it back as it was."""
    image = images.find("example.com/a:1")
    assert image.id.startswith("sha256:")
    assert image.size > 0
    assert images.use("example.com/a:1") == images.use(image.id) == image
    assert images.find("example.com/b:1").id != image.id
    assert images.known() == [image]


def test_an_id_that_nobody_named_is_an_image_too(images: Images) -> None:
    """After a restart of the fake kubelet still has ids of before."""
    assert images.find("sha256:12").id == "sha256:12"


def test_a_removed_image_is_not_in_use_any_more(images: Images) -> None:
    """Twice is no error (CRI RemoveImage)."""
    used = images.use("example.com/a:1")
    for _ in range(2):
        images.remove(used.id)
        assert images.known() == []


def test_an_image_has_a_name(images: Images, refused: RefusedWith) -> None:
    """Both runtimes refuse an empty one."""
    with refused(Code.INVALID_ARGUMENT):
        images.find("")
