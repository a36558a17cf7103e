"""Images are the same each time, and whole."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from refimpl.images.archive import write_archive
from refimpl.images.blobs import DOCKER, OCI, Family, digest_of
from refimpl.images.build import HOST, Built, Platform, build, index
from refimpl.images.layers import Layer, folder, link, plain, removed


def image(family: Family = "oci", **config: object) -> Built:
    base = Layer([folder("bin"), plain("bin/tool", "x", 0o755), link("bin/t", "tool")])
    top = Layer([removed("bin/t"), plain("etc/passwd", "root:x:0:0::/:/bin/sh\n")])
    return build([base, top], entrypoint=["/bin/tool"], family=family, **config)  # type: ignore[arg-type]


def test_an_image_is_the_same_each_time() -> None:
    assert image() == image()
    assert image(user="1000").manifest.digest != image().manifest.digest


@pytest.mark.parametrize(("family", "types"), [("oci", OCI), ("docker", DOCKER)])
def test_a_manifest_names_what_there_is(family: Family, types: object) -> None:
    built = image(family)
    manifest = json.loads(built.manifest.content)
    assert manifest["mediaType"] == types.manifest  # type: ignore[attr-defined]
    for descriptor in (manifest["config"], *manifest["layers"]):
        blob = built.blobs[descriptor["digest"]]
        assert (blob.media_type, len(blob.content)) == (descriptor["mediaType"], descriptor["size"])
        assert digest_of(blob.content) == descriptor["digest"]
    assert built.id == manifest["config"]["digest"]


def test_a_config_has_what_was_chosen_and_the_layers_uncompressed() -> None:
    built = image(user="1000:50000", stop_signal="SIGUSR1", volumes=["/data"], working_dir="/w")
    config = json.loads(built.blobs[built.id].content)
    assert config["config"] == {
        "Entrypoint": ["/bin/tool"],
        "User": "1000:50000",
        "StopSignal": "SIGUSR1",
        "Volumes": {"/data": {}},
        "WorkingDir": "/w",
        "Env": ["PATH=/bin"],
    }
    layers = [built.blobs[each["digest"]] for each in json.loads(built.manifest.content)["layers"]]
    unpacked = [gzip.decompress(layer.content) for layer in layers]
    assert config["rootfs"]["diff_ids"] == [digest_of(archive) for archive in unpacked]
    with tarfile.open(fileobj=io.BytesIO(unpacked[1])) as top:
        assert top.getnames() == ["bin/.wh.t", "etc/passwd"]


def test_a_layer_can_stay_uncompressed() -> None:
    layer = Layer([plain("a", "b")], compressed=False)
    assert layer.blob("oci").media_type == OCI.layer
    assert layer.blob("oci").digest == layer.diff_id


def test_an_index_names_an_image_a_platform() -> None:
    other = Platform("riscv64")
    whole = index({HOST: image(), other: image(runs_on=other)})
    listed = json.loads(whole.manifest.content)["manifests"]
    assert [each["platform"]["architecture"] for each in listed] == [HOST.architecture, "riscv64"]
    assert all(each["digest"] in whole.blobs for each in listed)


def test_an_archive_is_a_layout_with_names(tmp_path: Path) -> None:
    built = image()
    path = write_archive(tmp_path / "x.tar", {"a.b/c:1": built, "a.b/c:2": built})
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    named = json.loads(files["index.json"])["manifests"]
    names = [each["annotations"]["io.containerd.image.name"] for each in named]
    assert names == ["a.b/c:1", "a.b/c:2"]
    for name, content in files.items():
        if name.startswith("blobs/"):
            assert digest_of(content) == name.removeprefix("blobs/").replace("/", ":")
    assert len(files) == 2 + 1 + len(built.blobs)
