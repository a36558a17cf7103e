"""Images on a node: names, pulls, removal."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from refimpl.cri.state import RuntimeState
from refimpl.cri.state.models import Image
from refimpl.cri.virtual.images import AnyImages
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith

NAME = "example.com/a:1"


def test_an_image_is_found_by_id_beginning_tag_and_digest(state: RuntimeState) -> None:
    """CRI-IM-024; and it is not there before somebody pulls it."""
    assert state.images.find(NAME) is None
    image = state.images.pull(NAME)
    (digest,) = image.digests
    for name in (image.id, image.id.removeprefix("sha256:"), image.id[7:19], NAME, digest):
        assert state.images.find(name) == image
    assert state.images.find("example.com/a") is None
    assert state.images.find("UPPER/x") is None


def test_a_name_without_a_tag_is_that_of_latest(state: RuntimeState) -> None:
    """CRI-IM-002: as Docker reads it."""
    assert state.images.pull("busybox").tags == ("docker.io/library/busybox:latest",)
    assert state.images.find("docker.io/library/busybox") == state.images.find("busybox")


def test_one_image_has_the_names_of_all_its_registries(state: RuntimeState) -> None:
    """CRI-IM-006, 034: removed by one, it is gone under all."""
    state.images.pull("localhost:1/a:1")
    image = state.images.pull("127.0.0.1:1/a:1")
    assert image.tags == ("localhost:1/a:1", "127.0.0.1:1/a:1")
    before = len(state.images.present())
    for _ in range(2):
        state.images.remove("localhost:1/a:1")
        assert state.images.find("127.0.0.1:1/a:1") is None
    assert len(state.images.present()) == before - 1


def test_a_tag_that_moves_leaves_the_image_that_had_it(state: RuntimeState) -> None:
    """That one stays, dangling, until somebody removes it."""
    state.images.add(Image("sha256:" + "1" * 64, 1, tags=(NAME,)))
    state.images.add(Image("sha256:" + "2" * 64, 1, tags=(NAME,)))
    found = state.images.find(NAME)
    assert found is not None
    assert found.id == "sha256:" + "2" * 64
    old = state.images.find("1" * 64)
    assert old is not None
    assert old.tags == ()


def test_what_nobody_serves_is_refused_and_not_there(
    state: RuntimeState, refused: RefusedWith
) -> None:
    """Kubelet looks at the beginning of the message."""
    with refused(Code.UNKNOWN, "registry.invalid"):
        state.images.pull("registry.invalid/a:1")
    assert state.images.find("registry.invalid/a:1") is None


@pytest.mark.parametrize("name", ["", "a b", "UPPER/x", "a:b:c", "/a", "a@sha256:12"])
def test_what_is_no_reference_is_refused(
    state: RuntimeState, refused: RefusedWith, name: str
) -> None:
    """CRI-IM-019: fast, and saying what was sent."""
    with refused(Code.INVALID_ARGUMENT, *([repr(name)] if name else ["no name"])):
        state.images.pull(name)


def test_two_who_pull_the_same_share_one_download(
    state: RuntimeState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CRI-IM-018."""
    begun, go, pulls = threading.Event(), threading.Event(), []

    def pull(self: AnyImages, reference: str, *who: Any) -> Image:
        pulls.append(reference)
        begun.set()
        assert go.wait(10)
        return whole(self, reference, *who)

    whole = AnyImages.pull
    monkeypatch.setattr(AnyImages, "pull", pull)
    pulled: list[Image] = []
    threads = [
        threading.Thread(target=lambda: pulled.append(state.images.pull(NAME))) for _ in range(3)
    ]
    threads[0].start()
    assert begun.wait(10)
    for thread in threads[1:]:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(10)
    assert pulls[0] == NAME
    assert [image.id for image in pulled] == [pulled[0].id] * 3
