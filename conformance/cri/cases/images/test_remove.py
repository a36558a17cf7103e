"""RemoveImage: by any of its names the whole image goes."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from conformance.cri.needs import REGISTRY
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused


def _expect_gone(cri: CriTarget, names: Iterable[str]) -> None:
    left = [name for name in names if cri.shelf.status(name) is not None]
    expect(not left, "no name of it is known any more", wanted=[], got=left)


def _remove(cri: CriTarget, name: str) -> None:
    expect_status(lambda: cri.shelf.remove(name), {Code.OK}, f"RemoveImage of {name}")


@case("CRI-IM-032", "CRI v1 RemoveImage", needs=[REGISTRY])
def test_an_image_goes_at_once_by_its_id(cri: CriTarget) -> None:
    """It is in no list, and by none of its names there is a status."""
    image = cri.shelf.pulled("1", "2")
    _remove(cri, image.id)
    _expect_gone(cri, [image.id, image.name("1"), image.name("2"), image.digested])
    listed = [each for each in cri.shelf.listed() if image.name() in each.repo_tags]
    expect(not listed, "it is listed no more", wanted=[], got=listed)


@case("CRI-IM-033", "CRI v1 RemoveImage: by a tag the image goes", needs=[REGISTRY])
def test_by_one_tag_all_tags_go(cri: CriTarget) -> None:
    """Kubelet frees the room of the image, not a name."""
    image = cri.shelf.pulled("1", "2", "3")
    _remove(cri, image.name("2"))
    _expect_gone(cri, [image.name("1"), image.name("2"), image.name("3"), image.id])


@case("CRI-IM-034", "CRI v1 RemoveImage: by a tag the image goes", needs=[REGISTRY])
def test_by_a_tag_of_one_registry_those_of_others_go(cri: CriTarget) -> None:
    """It is one image, and garbage collection asks for it by one name."""
    image = cri.shelf.pulled()
    other = image.name(host="localhost")
    cri.shelf.pull(other)
    _remove(cri, image.name())
    _expect_gone(cri, [image.name(), other, image.id])


@case("CRI-IM-035", "CRI v1 RemoveImage", needs=[REGISTRY])
def test_an_image_goes_by_its_digest(cri: CriTarget) -> None:
    """One that was pulled by digest has no other name."""
    image = cri.shelf.push()
    cri.shelf.pull(image.digested)
    _remove(cri, image.digested)
    _expect_gone(cri, [image.digested, image.id])


@case("CRI-IM-036", "CRI v1 RemoveImage: must not fail where it is gone already", needs=[REGISTRY])
def test_removing_what_is_gone_succeeds(cri: CriTarget) -> None:
    """Kubelet repeats what it is not sure of."""
    image = cri.shelf.pulled()
    for name in (image.name(), image.name(), image.id, "refimpl.invalid/nobody:1"):
        _remove(cri, name)


@case("CRI-IM-037", "CRI v1 RemoveImage: must not fail where it is gone already", needs=[REGISTRY])
def test_several_may_remove_one_image_at_once(cri: CriTarget) -> None:
    """Each of them finds it gone afterwards."""
    image = cri.shelf.pulled()

    def remove(_: int) -> bool:
        _remove(cri, image.name())
        return cri.shelf.status(image.name()) is None

    with ThreadPoolExecutor(5) as pool:
        gone = list(pool.map(remove, range(5)))
    expect(all(gone), "after each of five removals it is gone", wanted=[True] * 5, got=gone)


@case("CRI-IM-038", "kubelet: containers outlive the removal of their image", needs=[REGISTRY])
def test_a_running_container_does_not_notice_that_its_image_goes(cri: CriTarget) -> None:
    """Whether it may be removed is up to the runtime; what runs has to run on."""
    image = cri.shelf.pulled()
    container = cri.pods.shared().run(image=image.name(), command=())
    _try(cri, image.name())
    state = container.status().state
    wanted = pb.ContainerState.Name(pb.CONTAINER_RUNNING)
    expect(
        state == pb.CONTAINER_RUNNING,
        "it runs on",
        wanted=wanted,
        got=pb.ContainerState.Name(state),
    )


@case("CRI-IM-039", "CRI v1 Image.pinned: for the collector of garbage alone", needs=[REGISTRY])
def test_pinned_images_are_told_and_others_are_not_pinned(cri: CriTarget) -> None:
    """A pull pins nothing; such an image can be removed by whoever wants that. That of sandboxes,
    which is pinned, is left alone here: the node needs it."""
    image = cri.shelf.pulled()
    status = cri.shelf.status(image.name())
    pinned = bool(status and status.pinned)
    expect(not pinned, "an image that was pulled is not pinned", wanted=False, got=pinned)
    _remove(cri, image.name())
    _expect_gone(cri, [image.name()])


@case("CRI-IM-041", "CRI v1 ContainerStatus.image_id", needs=[REGISTRY])
def test_a_container_tells_its_image_after_that_was_removed(cri: CriTarget) -> None:
    """Kubelet reports it in the status of the pod as long as the container is there."""
    image = cri.shelf.pulled()
    container = cri.pods.shared().create(image=image.name(), command=())
    before = container.status().image_id
    expect(before == image.id, "image_id is that of the image", wanted=image.id, got=before)
    _try(cri, image.name())
    after = container.status().image_id
    expect(after == before, "it stays", wanted=before, got=after)


def _try(cri: CriTarget, name: str) -> None:
    """Removes it, where the runtime lets one."""
    try:
        cri.shelf.remove(name)
    except Refused:
        return
