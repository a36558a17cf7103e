"""`refimpl images` and `refimpl serve registry`."""

from __future__ import annotations

import http.client
import json
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from refimpl.cli.images import command
from refimpl.images.shelf import Shelf
from tests.cli.test_serve import served


@pytest.fixture
def busybox(tmp_path: Path) -> str:
    program = tmp_path / "busybox"
    program.write_bytes(b"a program")
    return str(program)


def test_each_image_is_listed_with_its_digest(busybox: str) -> None:
    result = CliRunner().invoke(command, ["list", "--busybox", busybox])
    lines = dict(line.split() for line in result.output.splitlines())
    assert lines == {name: built.manifest.digest for name, built in Shelf(b"a program").items()}


def test_images_are_exported_by_name(tmp_path: Path, busybox: str) -> None:
    archive = tmp_path / "x.tar"
    words = ["export", str(archive), "pause:1", "tags:1", "--prefix", "a.b", "--busybox", busybox]
    result = CliRunner().invoke(command, words)
    assert (result.exit_code, result.output) == (0, f"2 images in {archive}\n")
    with tarfile.open(archive) as files:
        index = files.extractfile("index.json")
        assert index is not None
        listed = json.loads(index.read())["manifests"]
    names = [each["annotations"]["org.opencontainers.image.ref.name"] for each in listed]
    assert names == ["a.b/pause:1", "a.b/tags:1"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["export", "x.tar", "nobody:1"], "there is no image nobody:1"),
        (["export", "/nowhere/x.tar", "pause:1"], "/nowhere/x.tar: No such file or directory"),
        (["list", "--busybox", "/nowhere"], "/nowhere: No such file or directory"),
    ],
)
def test_what_cannot_be_is_a_usage_error(words: list[str], reason: str) -> None:
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 4
    assert reason in result.output


def test_a_registry_serves_until_it_is_interrupted(busybox: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("word\n")
    words = ("--busybox", busybox, "--user", "me", "--password-file", str(secret))
    with served(*words, interface="registry") as (process, address):
        connection = http.client.HTTPConnection(address, timeout=10)
        connection.request("GET", "/v2/")
        assert connection.getresponse().status == 401
        connection.close()
        process.terminate()
        assert process.wait(20) == 0


def test_half_of_a_login_is_a_usage_error() -> None:
    from refimpl.cli.serve_registry import command as registry

    for words in (["--user", "me"], ["--bearer"]):
        result = CliRunner().invoke(registry, words)
        assert result.exit_code == 4
        assert "go together" in result.output
