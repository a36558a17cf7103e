"""Mounts of images (KEP-4639)."""

from __future__ import annotations

import contextlib
import uuid

from conformance.cri.images import Pushed
from conformance.cri.needs import HOST, IMAGE, REGISTRY, VOLUMES
from conformance.cri.node import folder, said, worked
from conformance.cri.pods import ContainerUnderTest
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cri.api import cri_pb2 as pb
from refimpl.images.build import build
from refimpl.images.layers import Entry, Layer, link, plain
from refimpl.images.layers import folder as directory
from refimpl.wire.status import Refused

_NEEDS = (IMAGE, REGISTRY, VOLUMES)
_SENTINEL = "ImageVolumeMountFailed"
_ABSENT = "registry.invalid/refimpl/no-such:1"
_EXIT = 7
_UP = "../" * 20
_TEXT = "of the image\n"


def _pulled(cri: CriTarget, *more: Entry) -> Pushed:
    """An image with data, which is on the node and like no other."""
    entries = [
        plain("text", _TEXT),
        plain("run", f"#!/bin/sh\nexit {_EXIT}\n", 0o755),
        directory("sub"),
        plain("sub/deep", "deep\n"),
        plain("id", uuid.uuid4().hex),
    ]
    return cri.shelf.pulled(built=build([Layer([*entries, *more])]))


def _volume(image: str, **more: object) -> pb.Mount:
    chosen = {"container_path": "/volume", "readonly": True, **more}
    return pb.Mount(image=pb.ImageSpec(image=image), **chosen)  # type: ignore[arg-type]


def _run(cri: CriTarget, image: str, **more: object) -> ContainerUnderTest:
    return cri.pods.shared().run(mounts=[_volume(image, **more)])


def _expect_content(container: ContainerUnderTest, rule: str) -> None:
    seen = said(container, "cat", "/volume/text")
    expect(seen == _TEXT, rule, wanted=_TEXT, got=seen)


@case("CRI-MT-018", "CRI v1 Mount.image", needs=_NEEDS)
def test_the_files_of_an_image_are_seen_and_run(cri: CriTarget) -> None:
    """And nobody writes to them: others have the same image."""
    container = _run(cri, _pulled(cri).name())
    _expect_content(container, "its files are seen")
    wrote = worked(container, "touch /volume/new")
    expect(not wrote, "a write fails", wanted="Read-only file system", got="a file")
    code = cri.kubelet.exec_sync(container.id, ["/volume/run"], 10).exit_code
    expect(code == _EXIT, "a program in it can be run", wanted=_EXIT, got=code)


@case("CRI-MT-019", "CRI v1 Mount.image: always read-only", needs=_NEEDS)
def test_an_image_is_never_writable(cri: CriTarget) -> None:
    """readonly=false is refused, or read-only all the same (D51)."""
    image = _pulled(cri).name()
    try:
        container = _run(cri, image, readonly=False)
    except Refused:
        return
    wrote = worked(container, "touch /volume/new")
    expect(not wrote, "a write fails", wanted="Read-only file system", got="a file")


@case(
    "CRI-MT-020",
    "CRI v1 Mount.image: host_path MUST be empty",
    needs=[*_NEEDS, HOST],
)
def test_a_mount_has_one_source(cri: CriTarget) -> None:
    """Of two nobody knows which."""
    image, data = _pulled(cri).name(), folder(cri)
    expect_refusal(lambda: _run(cri, image, host_path=str(data)), "both image and host_path")


@case("CRI-MT-021", "CRI v1 Mount.image_sub_path", needs=_NEEDS)
def test_a_part_of_an_image_is_mounted_where_it_is_there(cri: CriTarget) -> None:
    """And kubelet tells from a word that the volume is at fault where it is not."""
    image = _pulled(cri).name()
    seen = said(_run(cri, image, image_sub_path="sub"), "cat", "/volume/deep")
    expect(seen == "deep\n", "what is at image_sub_path is seen", wanted="deep\n", got=seen)
    refusal = expect_refusal(
        lambda: _run(cri, image, image_sub_path="missing"), "an image_sub_path that is not there"
    )
    told = _SENTINEL in refusal.message
    expect(told, "the message has its word", wanted=_SENTINEL, got=refusal)


@case("CRI-MT-022", "kubelet: a volume is no way out", needs=[*_NEEDS, HOST])
def test_no_sub_path_leads_out_of_the_image(cri: CriTarget) -> None:
    """Neither by itself nor through a link in the image."""
    outside = folder(cri)
    (outside / "secret").write_text("of the node")
    image = _pulled(cri, link("escape", str(outside)), link("climb", f"{_UP}{outside}")).name()
    with together() as check:
        for path in (f"{_UP}{outside}", str(outside), "escape", "climb"):
            with check:
                try:
                    container = _run(cri, image, image_sub_path=path)
                except Refused:
                    continue
                seen = said(container, "cat", "/volume/secret")
                rule = f"image_sub_path {path!r} does not show the node"
                expect(not seen, rule, wanted="a refusal, or nothing", got=seen)


@case("CRI-MT-023", "cri-api pkg/errors: ImageVolumeMountFailed", needs=[IMAGE, VOLUMES])
def test_an_image_that_is_absent_is_told_with_its_word(cri: CriTarget) -> None:
    """Nothing is pulled: that is kubelet's to decide."""
    refusal = expect_refusal(lambda: _run(cri, _ABSENT), "a volume of an image that is not there")
    told = _SENTINEL in refusal.message
    expect(told, "the message has its word", wanted=_SENTINEL, got=refusal)


@case("CRI-MT-024", "CRI v1 ImageSpec.image_ref (KEP-5365)", needs=_NEEDS)
def test_the_status_tells_which_image_is_mounted(cri: CriTarget) -> None:
    """A tag may be another image by now."""
    pushed = _pulled(cri)
    mounts = _run(cri, pushed.name()).status().mounts
    shown = [each.image.image_ref for each in mounts if each.container_path == "/volume"]
    wanted = (pushed.id, pushed.digested)
    right = len(shown) == 1 and shown[0] in wanted
    expect(right, "image.image_ref of the mount names it", wanted=wanted, got=shown)


@case(
    "CRI-MT-025",
    "kubelet collects images that it thinks nobody uses",
    needs=_NEEDS,
)
def test_an_image_stays_as_long_as_it_is_mounted(cri: CriTarget) -> None:
    """RemoveImage is refused, or what is mounted stays (D43)."""
    image = _pulled(cri).name()
    container = _run(cri, image)
    with contextlib.suppress(Refused):
        cri.shelf.remove(image)
    _expect_content(container, "its files are still seen")


@case("CRI-MT-026", "KEP-4639: as any volume of a pod", needs=_NEEDS)
def test_two_containers_mount_one_image(cri: CriTarget) -> None:
    """The end of one takes nothing from the other."""
    image = _pulled(cri).name()
    first, second = _run(cri, image), _run(cri, image)
    _expect_content(first, "the first one sees its files")
    first.stop()
    first.remove()
    _expect_content(second, "the second one sees its files when the first is gone")
