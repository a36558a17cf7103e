"""Changes: what comes and goes while a cache watches."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from conformance.cdi.documents import document, several
from conformance.cdi.host import CdiHost, encoded
from conformance.cdi.needs import INJECT, LOAD, NODES, STRICT, WATCH
from conformance.engine.case import case
from conformance.engine.verdict import expect, soon, together

_SEEN_S = 2.0
_NEEDS = [LOAD, WATCH]
_NAME = "vendor.example/device=a"

Way = Callable[[Path, Path], object]
"""How the first path comes to have what the second one, in another directory, has."""


def _renamed(path: Path, other: Path) -> None:
    beside = path.with_suffix(".tmp")
    beside.write_bytes(other.read_bytes())
    beside.rename(path)


_WAYS: dict[str, Way] = {
    "written": lambda path, other: path.write_bytes(other.read_bytes()),
    "renamed in the directory": _renamed,
    "moved from elsewhere": lambda path, other: other.rename(path),
    "linked hard": lambda path, other: os.link(other, path),
    "linked softly": lambda path, other: path.symlink_to(other),
}


@case("CDI-036", "practice: refresh", needs=_NEEDS)
def test_a_file_is_seen_however_it_comes(host: CdiHost) -> None:
    """Drivers write, administrators move and link; the device has to be there either way."""
    missed = []
    for number, (label, way) in enumerate(_WAYS.items()):
        folder, elsewhere = host.directory(f"in{number}"), host.directory(f"out{number}")
        (elsewhere / "a.json").write_bytes(encoded(document()))
        host.open(folder, watched=True)
        expect(not host.load().devices, "nothing is there yet", wanted="none", got=host.load())
        way(folder / "a.json", elsewhere / "a.json")
        if not _seen(host, present=True):
            missed.append(label)
    rule = "a file that came is seen after a refresh"
    expect(not missed, rule, wanted="in every way", got=f"not when {', '.join(missed)}")


@case("CDI-037", "practice: refresh", needs=_NEEDS)
def test_what_goes_is_gone_and_what_comes_back_is_there(host: CdiHost) -> None:
    """A driver that was removed leaves no device that could be requested."""
    folder = host.directory("changing")
    path = host.put(folder / "a.json", document())
    host.open(folder, watched=True)
    expect(_seen(host, present=True), "a file is read", wanted=_NAME, got=host.load())
    with together() as check:
        path.unlink()
        gone = _seen(host, present=False)
        with check:
            expect(gone, "a removed file's device is gone", wanted="no device", got=host.load())
        host.put(path, document())
        with check:
            expect(
                _seen(host, present=True),
                "a file that is back counts",
                wanted=_NAME,
                got=host.load(),
            )
        shutil.rmtree(folder)
        gone = _seen(host, present=False)
        with check:
            expect(
                gone, "a removed directory's devices are gone", wanted="no device", got=host.load()
            )
        folder.mkdir()
        host.put(path, document())
        back = _seen(host, present=True)
        with check:
            expect(back, "a directory that is back counts", wanted=_NAME, got=host.load())


@case("CDI-038", "practice: refresh", needs=_NEEDS)
def test_half_a_file_is_an_error_and_then_the_whole_one_counts(host: CdiHost) -> None:
    """A writer in place is seen at work; half a device must not come of it."""
    folder = host.directory("writing")
    path = folder / "a.json"
    whole = encoded(several("ab"))
    host.open(folder, watched=True)
    host.load()
    with together() as check:
        with path.open("wb") as file:
            for part in (whole[: len(whole) // 2], whole[len(whole) // 2 : -2]):
                file.write(part)
                file.flush()
                about = soon(lambda: host.load().about(path), _SEEN_S)
                with check:
                    expect(
                        about, "half a file is an error", wanted=f"an error on {path}", got=about
                    )
                devices = host.load().devices
                with check:
                    expect(not devices, "half a file has no device", wanted="none", got=devices)
            file.write(whole[-2:])
        there = soon(lambda: len(host.load().devices) == 2, _SEEN_S)
        with check:
            expect(
                there, "the whole file counts once it is there", wanted="a and b", got=host.load()
            )
        with check:
            expect(
                not host.load().errors, "the error is gone", wanted="none", got=host.load().errors
            )


@case("CDI-048", "practice: device nodes", needs=[INJECT, WATCH, NODES, STRICT])
def test_a_node_that_was_renumbered_has_its_new_numbers(host: CdiHost) -> None:
    """A device that was unplugged and plugged in again is another one to the kernel."""
    node = host.folder / "node"
    name = host.define(edits={"deviceNodes": [{"path": "/dev/refimpl", "hostPath": str(node)}]})
    host.open(watched=True)
    with together() as check:
        for minor in (1, 2):
            with check:
                host.nodes.make(node, "c", 240, minor)
                devices = (host.inject(name).get("linux") or {}).get("devices") or []
                numbers = [
                    (each["major"], each["minor"])
                    for each in devices
                    if each["path"] == "/dev/refimpl"
                ]
                rule = "what is not given is taken from the host's node as it is now"
                expect(numbers == [(240, minor)], rule, wanted=(240, minor), got=numbers)


def _seen(host: CdiHost, *, present: bool) -> bool:
    return bool(soon(lambda: (_NAME in host.load().devices) == present, _SEEN_S))
