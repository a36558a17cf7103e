"""NodePublishVolume: what it makes at a target, and what it finds there."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from conformance.csi.common import content, foreign, mounts
from conformance.csi.common.published import block_volume, changed, publish
from conformance.csi.common.refusals import code_of, expect_refusal
from conformance.csi.needs import (
    BLOCK,
    DATA,
    FILES,
    KINDS,
    MOUNT,
    MOUNTS,
    NODE,
    ROOT,
    SAME_HOST,
    VOLUMES,
)
from conformance.csi.steps import Mounted
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, should, together
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 NodePublishVolume"
_SIZES = "CSI 1.13 Size Limits"
_LEAST = 128  # bytes of a path that every driver has to take
_LENGTHS = (_LEAST, 200, 255, 4000)
_COMPONENT = 200


@case("CSI-NPUB-017", _SOURCE, needs=[NODE, MOUNT, VOLUMES, KINDS])
def test_a_mount_volume_appears_as_a_directory_that_the_driver_makes(csi: CsiTarget) -> None:
    """Kubelet makes the parent only; a pod is started on whatever lies at the path then."""
    visible = csi.has(MOUNTS)
    mounted = csi.steps.mount(capability=csi.requests.capability(block=False))
    assert csi.paths is not None
    kind = csi.paths.kind(mounted.target_path)
    rule = "NodePublishVolume makes a directory at a target that was not there"
    with together() as check:
        with check:
            expect(kind == "directory", rule, wanted="a directory", got=kind)
        if visible:
            seen = mounts.layers(mounted.target_path)
            with check:
                expect(seen == 1, "the volume is mounted there", wanted="one mount", got=seen)


@case("CSI-NPUB-018", _SOURCE, needs=[NODE, BLOCK, VOLUMES, FILES, DATA])
def test_a_block_volume_appears_as_a_device_of_its_size(csi: CsiTarget) -> None:
    """A database on a raw device asks the device for its size, and writes up to its end."""
    mounted = publish(csi, block_volume(csi))
    assert csi.paths is not None
    kind = csi.paths.kind(mounted.target_path)
    rule = "NodePublishVolume makes a device at a target that was not there"
    with together() as check:
        with check:
            expect(kind == "file", rule, wanted="a device or a file", got=kind)
        capacity = mounted.volume.capacity_bytes
        if capacity:
            seen = content.size(mounted)
            rule = "a block volume is published with the capacity it was made with"
            with check:
                expect(seen == capacity, rule, wanted=f"{capacity} bytes", got=seen)


@case("CSI-NPUB-019", "robustness: something at the target", needs=[NODE, VOLUMES, FILES])
def test_what_lies_at_a_target_already_is_left_alone(csi: CsiTarget) -> None:
    """A node after a crash is full of leftovers. Publish and the unpublish that follows may fail,
    but must not delete files of others, nor be led away by a link."""
    ready = csi.steps.ready()
    harmed = [problem for what in _LEFTOVERS if (problem := _stumbled(csi, ready, what))]
    rule = "NodePublishVolume and NodeUnpublishVolume leave alone what lies at a target already"
    expect(not harmed, rule, wanted="every file as it was", got="; ".join(harmed))


@case("CSI-NPUB-020", "robustness: no parent", needs=[NODE, VOLUMES, FILES])
def test_a_missing_parent_is_not_made(csi: CsiTarget) -> None:
    """The parent belongs to the caller. A driver that makes it mounts at paths where nobody looks,
    after the pod was forgotten, and nobody ever unmounts there."""
    parent = csi.steps.target_path()
    mounted = changed(csi.steps.ready(), target_path=f"{parent}/mount")
    refusal = expect_refusal(
        lambda: csi.node.NodePublishVolume(mounted.request),
        "NodePublishVolume at a target whose parent does not exist is refused",
    )
    left = os.path.lexists(parent)
    rule = f"NodePublishVolume makes no parent of a target ({refusal.code.name})"
    expect(not left, rule, wanted=f"nothing at {parent}", got=_listed(parent) if left else "")


@case("CSI-NPUB-021", _SOURCE, needs=[NODE, VOLUMES, SAME_HOST])
def test_a_target_that_is_not_absolute_is_refused(csi: CsiTarget) -> None:
    """Relative to what? The driver would mount in its own directory, where nobody finds it. A path
    with `..` says less than it seems to, and is better not taken either."""
    ready = csi.steps.ready()
    relative = changed(ready, target_path=f"{csi.requests.fresh_name('relative')}/mount")
    with together() as check:
        with check:
            expect_status(
                lambda: csi.node.NodePublishVolume(relative.request),
                {Code.INVALID_ARGUMENT},
                "NodePublishVolume at a relative target_path is refused",
            )
        parent, name = os.path.split(ready.target_path)
        roundabout = changed(ready, target_path=f"{parent}/../{os.path.basename(parent)}/{name}")
        code = code_of(lambda: csi.node.NodePublishVolume(roundabout.request))
        with check:
            should(
                code == Code.INVALID_ARGUMENT,
                "NodePublishVolume at a target_path with `..` in it is refused",
                wanted="INVALID_ARGUMENT",
                got=code.name,
            )


@case("CSI-NPUB-022", _SIZES, needs=[NODE, VOLUMES, FILES])
def test_long_target_paths_are_taken(csi: CsiTarget) -> None:
    """Kubelet's own paths have some 190 bytes. Every driver takes 128, whatever the characters; it
    should take as many as the system takes."""
    ready = csi.steps.ready()
    targets = [(f"of {length} bytes", _long(csi, length)) for length in _LENGTHS]
    targets += [(f"with {name!r} in it", _named(csi, name)) for name in ("two words", "größe-体积")]
    targets.sort(key=lambda each: len(each[1].encode()) > _LEAST)  # what every driver must first
    with together() as check:
        for what, target in targets:
            mounted = changed(ready, target_path=target)
            codes = [code_of(partial(csi.node.NodePublishVolume, mounted.request))]
            codes += [code_of(partial(csi.steps.unmount, mounted))]
            if codes[-1] != Code.OK:
                _unmount_by_hand(csi, mounted)
            demand = expect if len(target.encode()) <= _LEAST else should
            for rpc, code in zip(("NodePublishVolume", "NodeUnpublishVolume"), codes, strict=True):
                with check:
                    demand(
                        code == Code.OK,
                        f"{rpc} takes a target_path {what}",
                        wanted="OK",
                        got=code.name,
                    )


def _unmount_by_hand(csi: CsiTarget, mounted: Mounted) -> None:
    """Leaves nothing behind where the driver would: a longer path is no must, cleaning up is."""
    if csi.has(ROOT):
        mounts.uncover(mounted.target_path)
        code_of(partial(csi.steps.unmount, mounted))


def _stumbled(csi: CsiTarget, ready: Mounted, what: str) -> str:
    """Publishes over a leftover and unpublishes; what became of it, empty where nothing did."""
    mounted = changed(ready, target_path=csi.steps.target_path())
    laid, led_to = _LEFTOVERS[what](csi, mounted)
    code = code_of(lambda: csi.node.NodePublishVolume(mounted.request))
    harm = laid.harm() if laid and led_to else ""  # a mount over the others hides them, no more
    ended = code_of(lambda: csi.steps.unmount(mounted))
    if laid and not harm:
        harm = laid.harm()
    if laid and not led_to:
        laid.remove()  # so that what could not be unpublished for its sake can be now
    return f"{what} ({code.name}, {ended.name}): {harm}" if harm else ""


Laid = tuple[foreign.Foreign | None, bool]


def _empty_directory(_: CsiTarget, mounted: Mounted) -> Laid:
    os.mkdir(mounted.target_path)
    return None, False


def _full_directory(csi: CsiTarget, mounted: Mounted) -> Laid:
    return foreign.inside(csi, mounted.target_path), False


def _file(csi: CsiTarget, mounted: Mounted) -> Laid:
    return foreign.at(csi, mounted.target_path), False


def _link(csi: CsiTarget, mounted: Mounted) -> Laid:
    outside = csi.steps.staging_path()
    laid = foreign.inside(csi, outside)
    block = mounted.request.volume_capability.HasField("block")
    foreign.link(csi, mounted.target_path, laid.path if block else outside)
    return laid, True


_LEFTOVERS: dict[str, Callable[[CsiTarget, Mounted], Laid]] = {
    "an empty directory": _empty_directory,
    "a directory with a file in it": _full_directory,
    "a file": _file,
    "a link that leads outside": _link,
}


def _long(csi: CsiTarget, length: int) -> str:
    """A fresh target of that many bytes, or of as few as the configured directory allows."""
    target = csi.steps.target_path()
    parent, name = os.path.split(target)
    missing = max(0, length - len(target.encode()))
    while missing > _COMPONENT:
        parent = f"{parent}/{'x' * (_COMPONENT - 2)}"
        missing -= _COMPONENT - 1
    return _under(csi, Path(parent), name + "x" * missing)


def _named(csi: CsiTarget, name: str) -> str:
    parent, last = os.path.split(csi.steps.target_path())
    return _under(csi, Path(parent, name), last)


def _under(csi: CsiTarget, parent: Path, name: str) -> str:
    """A target below directories that are made now, and removed when the case ends."""
    for directory in reversed([parent, *parent.parents]):
        if not directory.exists():
            directory.mkdir(mode=0o750)
            csi.scope.callback(partial(_remove, directory))
    return str(parent / name)


def _remove(directory: Path) -> None:
    if directory.is_dir() and not any(directory.iterdir()):
        directory.rmdir()


def _listed(path: str) -> str:
    return f"a directory with {os.listdir(path) or 'nothing in it'}"
