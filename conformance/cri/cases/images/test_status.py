"""ImageStatus and ListImages."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial

from conformance.cri.needs import REGISTRY
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect, expect_status, should, together
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code

_PREFIX = 20
_USERS = {
    "": (None, ""),
    "0": (0, ""),
    "0:0": (0, ""),
    "1002": (1002, ""),
    "1003:1004": (1003, ""),
    "www-data": (None, "www-data"),
    "www-data:100": (None, "www-data"),
}
"""User of an image -> uid and username of Image."""
_NO_REFERENCES = ("a b", "UPPER/x")


def _there(cri: CriTarget, name: str) -> pb.Image:
    image = cri.shelf.status(name)
    if image is None:
        raise Broken("ImageStatus knows an image that was pulled", name, "no image")
    return image


@case("CRI-IM-023", "CRI v1 ImageStatusResponse.image: empty where there is none")
def test_an_image_that_is_not_there_is_no_error(cri: CriTarget) -> None:
    """Kubelet pulls it then; an error would keep it from that."""
    status = expect_status(
        lambda: cri.images.ImageStatus(_asked("refimpl.invalid/nobody:1")), {Code.OK}, "no image"
    )
    assert status is not None
    expect(not status.HasField("image"), "image is not set", wanted=None, got=status)


@case("CRI-IM-024", "CRI v1 ImageStatus: by id, tag and digest", needs=[REGISTRY])
def test_an_image_is_found_by_each_of_its_names(cri: CriTarget) -> None:
    """crictl shows short ids, kubelet asks by id, pods by tag and digest."""
    image = cri.shelf.pulled()
    wanted = _there(cri, image.name())
    with together() as check:
        for name in (wanted.id, wanted.id[:_PREFIX], image.digested):
            with check:
                status = cri.shelf.status(name)
                expect(status == wanted, f"by {name} it is the same", wanted=wanted, got=status)


@case("CRI-IM-025", "CRI v1 Image.id, size: more than 0", needs=[REGISTRY])
def test_an_image_has_an_id_and_a_size(cri: CriTarget) -> None:
    """Kubelet refuses the whole answer otherwise."""
    image = _there(cri, cri.shelf.pulled().name())
    expect(image.id, "it has an id", wanted="an id", got=image)
    expect(image.size > 0, "it has a size", wanted="more than 0", got=image.size)


@case("CRI-IM-026", "CRI v1 Image.uid, username", needs=[REGISTRY])
def test_the_user_of_an_image_is_told(cri: CriTarget) -> None:
    """Kubelet decides by it about runAsNonRoot; 0 is root, and not the same as no uid."""
    with together() as check:
        for user, wanted in _USERS.items():
            image = _there(cri, cri.shelf.pulled(user=user).name())
            uid = image.uid.value if image.HasField("uid") else None
            with check:
                got = (uid, image.username)
                # An image without a user runs as root, which may be told.
                right = got == wanted or (not user and got == (0, ""))
                expect(right, f"user {user!r}", wanted=wanted, got=got)


@case("CRI-IM-027", "CRI v1 ImageStatusResponse.info: only if verbose", needs=[REGISTRY])
def test_details_of_an_image_come_on_demand_only(cri: CriTarget) -> None:
    """`crictl inspecti` shows the config of the image."""
    name = cri.shelf.pulled(environment=["REFIMPL=here"]).name()
    info = cri.images.ImageStatus(_asked(name)).info
    expect(not info, "info is empty without verbose", wanted={}, got=dict(info))
    info = cri.images.ImageStatus(_asked(name, verbose=True)).info
    for key, value in info.items():
        try:
            json.loads(value)
        except ValueError:
            raise Broken(f"info[{key!r}] is JSON", "JSON", value) from None
    told = any("REFIMPL=here" in value for value in info.values())
    expect(told, "it has the config of the image", wanted="its environment", got=dict(info))


@case("CRI-IM-028", "CRI v1 ImageStatusRequest.image")
def test_a_status_of_no_name_is_refused(cri: CriTarget) -> None:
    """All images begin with nothing."""
    with together() as check:
        for kind, spec in (("an empty image", pb.ImageSpec()), ("no image", None)):
            with check:
                expect_refusal(
                    partial(cri.images.ImageStatus, pb.ImageStatusRequest(image=spec)),
                    f"{kind} is no name",
                )


@case("CRI-IM-029", "CRI v1 ListImages", needs=[REGISTRY])
def test_the_list_has_each_image_once(cri: CriTarget) -> None:
    """Kubelet's collector of garbage adds up sizes."""
    image = cri.shelf.pulled("1", "2")
    ids = Counter(each.id for each in cri.shelf.listed())
    id = _there(cri, image.name()).id
    expect(ids[id] == 1, "an image with two tags is there once", wanted=1, got=ids[id])
    twice = [id for id, count in ids.items() if count > 1]
    expect(not twice, "no id is there twice", wanted=[], got=twice)


@case("CRI-IM-030", "CRI v1 ImageFilter.image", needs=[REGISTRY])
def test_a_filter_lists_the_image_that_it_names(cri: CriTarget) -> None:
    """`crictl images NAME`."""
    image = cri.shelf.pulled()
    cri.shelf.pulled()
    ids = [each.id for each in cri.shelf.listed(image.name())]
    wanted = [_there(cri, image.name()).id]
    expect(ids == wanted, "just that is listed", wanted=wanted, got=ids)


@case("CRI-IM-031", "CRI v1 ImageFilter.image", needs=[REGISTRY])
def test_a_filter_of_an_unknown_name_lists_none(cri: CriTarget) -> None:
    """Who looks for an image must not have to know errors."""
    image = cri.shelf.pulled()
    ids = [each.id for each in cri.shelf.listed(image.name("unknown"))]
    expect(ids == [], "nothing is listed", wanted=[], got=ids)


@case("CRI-IM-042", "distribution reference grammar")
def test_what_is_no_reference_has_no_image(cri: CriTarget) -> None:
    """It is no error of the runtime either."""
    with together() as check:
        for name in _NO_REFERENCES:
            with check:
                status = expect_status(
                    partial(cri.images.ImageStatus, _asked(name)),
                    {Code.OK, Code.INVALID_ARGUMENT},
                    f"{name!r} is no name of an image",
                )
                image = status.image if status and status.HasField("image") else None
                should(image is None, "it names none", wanted=None, got=image)


def _asked(name: str, *, verbose: bool = False) -> pb.ImageStatusRequest:
    return pb.ImageStatusRequest(image=pb.ImageSpec(image=name), verbose=verbose)
