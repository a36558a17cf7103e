"""The images that we make."""

from __future__ import annotations

import gzip
import io
import json
import platform
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest

from refimpl.images.blobs import digest_of
from refimpl.images.elf import PAUSE
from refimpl.images.shelf import Shelf


@pytest.mark.parametrize("name", Shelf())
def test_each_image_is_whole_and_the_same_each_time(name: str) -> None:
    built = Shelf()[name]
    assert built.manifest == Shelf()[name].manifest
    waiting = [built.manifest]
    while waiting:
        members = json.loads(waiting.pop().content)
        parts = [*members.get("manifests", ()), *members.get("layers", ())]
        parts += [members["config"]] if "config" in members else []
        for part in parts:
            blob = built.blobs[part["digest"]]
            assert digest_of(blob.content) == part["digest"]
            waiting += [blob] if "manifest" in blob.media_type else []


def test_images_of_one_name_are_one_and_others_differ() -> None:
    shelf = Shelf()
    assert shelf["tags:1"] == shelf["tags:2"] == shelf["tags:3"]
    assert shelf["several-1:latest"].id != shelf["several-2:latest"].id


def test_the_program_of_the_machine_is_in_them_where_it_is_given() -> None:
    built = Shelf(b"the program")["busybox:1"]
    layer = json.loads(built.manifest.content)["layers"][0]["digest"]
    archive = gzip.decompress(built.blobs[layer].content)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        program = files.extractfile("bin/busybox")
        assert program is not None
        assert program.read() == b"the program"
        assert files.getmember("bin/sh").linkname == "busybox"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its system calls are of x86-64")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_pause_waits_and_ends_well_when_it_is_told_to(tmp_path: Path, number: int) -> None:
    program = tmp_path / "pause"
    program.write_bytes(PAUSE)
    program.chmod(0o755)
    with subprocess.Popen([program]) as process:
        process.send_signal(signal.SIGCHLD)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.1)
        process.send_signal(number)
        assert process.wait(10) == 0
