"""PullImage: names, and what is there afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from conformance.cri.needs import REGISTRY
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect, should, together
from refimpl.cri.api import cri_pb2 as pb
from refimpl.images.registry import Fault
from refimpl.wire.status import Code

_MANIFESTS = "*/manifests/*"
_NO_REFERENCES = ("", "a b", "UPPER/x", "a:b:c", "/a", "a@sha256:12")
_AT_ONCE_S = 10.0


@case("CRI-IM-001", "CRI v1 Image.repo_tags", needs=[REGISTRY])
def test_an_image_that_is_pulled_by_tag_has_that_tag(cri: CriTarget) -> None:
    """Kubelet and people find it by the name that they asked for."""
    image = cri.shelf.pulled()
    status = cri.shelf.status(image.name())
    tags = list(status.repo_tags) if status else None
    expect(tags == [image.name()], "repo_tags has the name", wanted=[image.name()], got=tags)


@case("CRI-IM-002", "distribution reference grammar: no tag is latest", needs=[REGISTRY])
def test_a_name_without_a_tag_is_that_of_latest(cri: CriTarget) -> None:
    """`image: busybox` in a pod."""
    image = cri.shelf.push("latest")
    cri.shelf.pull(image.bare)
    status = cri.shelf.status(image.bare)
    tags = list(status.repo_tags) if status else None
    wanted = [image.name("latest")]
    expect(tags == wanted, "repo_tags has the name with :latest", wanted=wanted, got=tags)


@case("CRI-IM-003", "CRI v1 Image.repo_digests", needs=[REGISTRY])
def test_an_image_that_is_pulled_by_digest_has_no_tag(cri: CriTarget) -> None:
    """Nobody has said what the tag stands for."""
    image = cri.shelf.push()
    cri.shelf.pull(image.digested)
    status = cri.shelf.status(image.digested)
    if status is None:
        raise Broken("ImageStatus knows what was pulled", image.digested, "no image")
    expect(not status.repo_tags, "repo_tags is empty", wanted=[], got=list(status.repo_tags))
    digests = list(status.repo_digests)
    wanted = [image.digested]
    expect(digests == wanted, "repo_digests has the name", wanted=wanted, got=digests)


@case("CRI-IM-004", "Kubernetes images: with tag and digest the digest counts", needs=[REGISTRY])
def test_the_digest_counts_where_there_is_a_tag_as_well(cri: CriTarget) -> None:
    """The tag has moved on; who named a digest wants just that."""
    old = cri.shelf.push("1")
    new = cri.shelf.push("2", registry=old.registry)
    old.registry.content.put(f"{old.repository}:1", new.built)
    reference = cri.shelf.pull(f"{old.name()}@{old.built.manifest.digest}")
    expect(reference == old.id, "that of the digest is pulled", wanted=old.id, got=reference)


@case("CRI-IM-005", "CRI v1 PullImageResponse.image_ref: the id, since 1.36", needs=[REGISTRY])
def test_what_a_pull_returns_is_the_id(cri: CriTarget) -> None:
    """Kubelet compares it with the id in statuses and lists."""
    image = cri.shelf.push()
    reference = cri.shelf.pull(image.name())
    status = cri.shelf.status(image.name())
    id = status.id if status else None
    expect(reference == id, "image_ref is Image.id", wanted=id, got=reference)


@case("CRI-IM-006", "CRI v1 Image: one image, all its names", needs=[REGISTRY])
def test_an_image_of_two_registries_is_one(cri: CriTarget) -> None:
    """A mirror serves the same content under another name."""
    image = cri.shelf.push()
    names = [image.name(), image.name(host="localhost")]
    ids = [cri.shelf.pull(name) for name in names]
    expect(ids[0] == ids[1], "both pulls return one id", wanted=ids[0], got=ids[1])
    status = cri.shelf.status(ids[0])
    tags = sorted(status.repo_tags) if status else None
    expect(tags == sorted(names), "repo_tags has both", wanted=sorted(names), got=tags)


@case("CRI-IM-007", "CRI v1 PullImage", needs=[REGISTRY])
def test_a_tag_that_the_registry_has_not_is_refused(cri: CriTarget) -> None:
    """A typing mistake in a pod."""
    name = cri.shelf.push().name("2")
    expect_refusal(
        lambda: cri.shelf.pull(name), "a tag that is not there", preferred=[Code.NOT_FOUND]
    )
    status = cri.shelf.status(name)
    expect(status is None, "there is no image of that name", wanted=None, got=status)


@case("CRI-IM-018", "kubelet pulls in parallel (serializeImagePulls: false)", needs=[REGISTRY])
def test_several_who_pull_the_same_get_the_same(cri: CriTarget) -> None:
    """Five pods of one image start at once."""
    slow = cri.shelf.serve([Fault(path=_MANIFESTS, times=1, delay_s=0.3)])
    image = cri.shelf.push(registry=slow)
    with ThreadPoolExecutor(5) as pool:
        ids = list(pool.map(lambda _: cri.shelf.pull(image.name()), range(5)))
    expect(ids == [image.id] * 5, "all get one id", wanted=image.id, got=ids)


@case("CRI-IM-019", "distribution reference grammar")
def test_what_is_no_reference_is_refused_at_once(cri: CriTarget) -> None:
    """No registry has to be asked for it."""
    with together() as check:
        for name in _NO_REFERENCES:
            with check:
                expect_refusal(
                    partial(cri.shelf.pull, name, timeout=_AT_ONCE_S),
                    f"{name!r} is no name of an image",
                )


@case("CRI-IM-020", "CRI v1 ImageSpec.runtime_handler", needs=[REGISTRY])
def test_a_pull_for_an_unknown_handler_is_refused(cri: CriTarget) -> None:
    """A pod of that class could not use the image."""
    name = cri.shelf.push().name()
    spec = pb.ImageSpec(image=name, runtime_handler="refimpl-nobody")
    expect_refusal(
        lambda: cri.images.PullImage(pb.PullImageRequest(image=spec)),
        "a runtime_handler that Status does not list is rejected",
    )


@case("CRI-IM-040", "CRI v1 RemoveImage, PullImage", needs=[REGISTRY])
def test_an_image_can_be_pulled_again_after_it_was_removed(cri: CriTarget) -> None:
    """The garbage collector took it away, and the next pod wants it."""
    image = cri.shelf.pulled()
    cri.shelf.remove(image.name())
    reference = cri.shelf.pull(image.name())
    expect(reference == image.id, "it is the same", wanted=image.id, got=reference)
    status = cri.shelf.status(image.name())
    expect(status is not None, "it is there", wanted=image.id, got=None)
    used = status.size if status else 0
    should(used > 0, "it has its size", wanted="more than 0", got=used)
