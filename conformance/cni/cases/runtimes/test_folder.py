"""How a runtime notices what changes in its folder of configurations."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from conformance.cni.runtimes.killed import ASIDE, MOVED
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.subject import RESTART
from conformance.engine.case import case
from conformance.engine.verdict import expect, soon, together
from refimpl.documents import json as documents

_NOTICED_S = 2.0


@case("CNI-RT-055", "practice: installers of networks", alone=True)
def test_a_configuration_is_noticed_however_it_comes(runtime: RuntimeUnderTest) -> None:
    """Installers write, move, link; a node whose runtime missed it has no network until somebody
    touches the file.
    """
    rule, wanted = "a change in the folder is noticed within 2 s", "noticed"
    with together() as check:
        for number, (name, place) in enumerate(_WAYS.items(), 1):
            if not _noticed(runtime, place, number):
                check.found(f"{rule}: {name}", wanted, "not noticed")
        if not _gone_noticed(runtime):
            check.found(f"{rule}: a file that is deleted", wanted, "not noticed")
        if RESTART not in runtime.subject.lacks:
            check.found(f"{rule}: a folder that is replaced", wanted, _replaced(runtime))


def _written(_source: Path, path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _renamed(_source: Path, path: Path, data: bytes) -> None:
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(data)
    new.rename(path)


def _moved(source: Path, path: Path, data: bytes) -> None:
    source.write_bytes(data)
    if source.stat().st_dev == path.parent.stat().st_dev:
        source.rename(path)
    else:
        shutil.move(source, path)


def _hard_linked(source: Path, path: Path, data: bytes) -> None:
    source.write_bytes(data)
    os.link(source, path)


def _symlinked(source: Path, path: Path, data: bytes) -> None:
    source.write_bytes(data)
    path.symlink_to(source)


_WAYS: dict[str, Callable[[Path, Path, bytes], None]] = {
    "a file that is written": _written,
    "one that is renamed within the folder": _renamed,
    "one that is moved into it": _moved,
    "one that is linked": _hard_linked,
    "a symbolic link": _symlinked,
}


def _noticed(
    runtime: RuntimeUnderTest, place: Callable[[Path, Path, bytes], None], number: int
) -> bool:
    """Whether the network of a new file is what pods get."""
    document = runtime.network("a", name=f"{runtime.name}-{number}")
    path = runtime.files.path()
    runtime.files.making(path)
    source = path.parent.parent / f"refimpl-{runtime.name}-{number}"
    runtime.files.making(source)
    taken = runtime.taken(document)
    try:
        place(source, path, documents.dump(document))
    except OSError:
        return True  # the two are not on one file system: no such link can be made there
    noticed = bool(soon(taken, _NOTICED_S))
    path.unlink()
    return noticed


def _gone_noticed(runtime: RuntimeUnderTest) -> bool:
    document = runtime.network("a")
    taken = runtime.taken(document)
    runtime.files.write(documents.dump(document))
    soon(taken, _NOTICED_S)
    runtime.files.path().unlink()
    return bool(soon(lambda: not taken(), _NOTICED_S))


def _replaced(runtime: RuntimeUnderTest) -> str:
    """What is wrong after the folder was moved away and a new one came. "" for nothing."""
    folder = runtime.subject.conf_dir
    aside = folder.with_name(f"{folder.name}{ASIDE}")
    runtime.ledger.making(MOVED, folder)
    folder.rename(aside)
    try:
        shutil.copytree(aside, folder)
        document = runtime.network("a", name=f"{runtime.name}-replaced")
        taken = runtime.taken(document)
        runtime.files.write(documents.dump(document))
        noticed = soon(taken, _NOTICED_S)
    finally:
        shutil.rmtree(folder)
        aside.rename(folder)
        runtime.ledger.gone(MOVED, folder)
    alive = runtime.subject.alive()
    runtime.subject.restart()  # whatever it watches now, it is not the folder
    return "" if noticed and alive else "not noticed" if alive else "the runtime ends"


@case("CNI-RT-056", "practice: containerd, CRI-O", alone=True)
def test_a_broken_file_is_skipped_or_told_and_does_no_harm_once_it_is_gone(
    runtime: RuntimeUnderTest,
) -> None:
    """Some runtimes go on to the next file, others have no network until it is mended; either is
    fine where it is known, and ends with the file.
    """
    second = runtime.network("a", name=f"{runtime.name}-second")
    taken = runtime.taken(second)
    runtime.files.write(documents.dump(second), runtime.files.path(2))
    broken = runtime.files.write(b'{"cniVersion": "1.0.0", "name": ', runtime.files.path(1))
    skipped = soon(taken, 1.0)
    if not skipped:
        ready = runtime.subject.readiness()
        expect(not ready.ready, "it is told", wanted="the network is not ready", got=ready)
    broken.unlink()
    runtime.use("a", name=f"{runtime.name}-second")
    refusal = runtime.attempt()
    expect(not refusal, "once it is gone pods run", wanted="a pod", got=refusal)
