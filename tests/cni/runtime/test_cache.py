"""The kept files: libcni's, without its ambiguity."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from refimpl.cni.runtime import PROFILES, Attachment, CacheError, Kept
from refimpl.cni.runtime.cache import Store

CONFIG = b'{"cniVersion": "1.1.0", "name": "net", "plugins": [{"type": "one"}]}'
RESULT = {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24"}]}


@pytest.fixture
def strict(tmp_path: Path) -> Store:
    """The store of the strict profile."""
    return Store(tmp_path, PROFILES["strict"])


@pytest.fixture
def libcni(tmp_path: Path) -> Store:
    """The store of the libcni profile, in the same folder."""
    return Store(tmp_path, PROFILES["libcni"])


def kept(network: str = "net", container_id: str = "c1", **more: Any) -> Kept:
    """An attachment to keep."""
    about = Attachment(container_id, "/ns", more.pop("ifname", "eth0"), **more)
    return Kept(network, about, CONFIG, RESULT)


def test_all_members_come_back(strict: Store) -> None:
    """Numbers to the digit, pairs in order."""
    entry = kept(args=[("B", "2"), ("A", "1")], capability_args={"mac": "x", "n": 2**60 + 1})
    strict.write(entry)
    assert strict.read("net", entry.attachment) == entry


def test_a_file_in_the_words_of_libcni(libcni: Store, tmp_path: Path) -> None:
    """To the byte: order of members, sorted result, what is empty left out."""
    place = libcni.write(Kept("net", Attachment("c1"), b"<>", {"ips": [], "cniVersion": "1.1.0"}))
    assert place == tmp_path / "results" / "net-c1-eth0"
    assert place.read_bytes() == (
        b'{"kind":"cniCacheV1","containerId":"c1","config":"PD4=","ifName":"eth0",'
        b'"networkName":"net","result":{"cniVersion":"1.1.0","ips":[]}}'
    )


@pytest.mark.parametrize(("writer", "reader"), [("strict", "libcni"), ("libcni", "strict")])
def test_each_reads_what_the_other_wrote(writer: str, reader: str, tmp_path: Path) -> None:
    """One cache directory serves all profiles."""
    entry = kept(args=[("A", "1")], capability_args={"mac": "x"})
    Store(tmp_path, PROFILES[writer]).write(entry)
    assert Store(tmp_path, PROFILES[reader]).read("net", entry.attachment) == entry
    assert list(Store(tmp_path, PROFILES[reader])) == [entry]


def test_who_comes_second_takes_another_name(strict: Store, tmp_path: Path) -> None:
    """RT-032: both names would be a-b-c-eth0."""
    first, second = kept("a-b", "c"), kept("a", "b-c")
    places = [strict.write(each) for each in (first, second)]
    assert places[0].name == "a-b-c-eth0"
    assert places[1].name.startswith("a-b-c-eth0~")
    for each in (first, second):
        assert strict.read(each.network, each.attachment) == each
    strict.remove("a-b", first.attachment)
    assert strict.read("a", second.attachment) == second
    assert strict.write(second) == places[1]
    strict.remove("a", second.attachment)
    assert list((tmp_path / "results").iterdir()) == []


def test_libcni_takes_one_for_the_other(libcni: Store) -> None:
    """RT-032: that is what the names are about."""
    first, second = kept("a-b", "c"), kept("a", "b-c")
    libcni.write(first)
    assert libcni.read("a", second.attachment) == first


def test_a_name_too_long_for_a_file_is_shortened(strict: Store) -> None:
    """Container ids have no limit; libcni fails after the plugins have run."""
    entry = kept(container_id="x" * 300)
    place = strict.write(entry)
    assert len(os.fsencode(place.name)) <= 255
    assert strict.read("net", entry.attachment) == entry


def test_a_write_replaces_in_one_step(strict: Store, tmp_path: Path) -> None:
    """No file is ever half there, and none is left over."""
    entry = kept()
    strict.write(entry)
    before = (tmp_path / "results" / "net-c1-eth0").stat().st_ino
    strict.write(entry)
    assert (tmp_path / "results" / "net-c1-eth0").stat().st_ino != before
    assert len(list((tmp_path / "results").iterdir())) == 1


def test_a_begun_add_has_no_result(strict: Store) -> None:
    """The file is there before the first plugin runs."""
    entry = Kept("net", Attachment("c1"), CONFIG, None)
    place = strict.write(entry)
    assert "result" not in json.loads(place.read_bytes())
    assert strict.read("net", Attachment("c1")) == entry


def test_a_bare_result_is_one_of_old_libcni(strict: Store, libcni: Store, tmp_path: Path) -> None:
    """Files of before the kind existed."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "net-c1-eth0").write_text(json.dumps(RESULT))
    for store in (strict, libcni):
        entry = store.read("net", Attachment("c1"))
        assert entry is not None
        assert (entry.config, entry.result) == (b"", RESULT)
        assert list(store) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1]",
        b'{"kind": "cniCacheV1", "config": "%%%"}',
        b'{"kind": "cniCacheV1", "containerId": 1}',
        b'{"kind": "cniCacheV1", "cniArgs": [["a"]]}',
        b'{"kind": "cniCacheV1", "result": []}',
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_path(
    strict: Store, tmp_path: Path, content: bytes
) -> None:
    """RT-030: and is passed over in a list of all."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "net-c1-eth0").write_bytes(content)
    with pytest.raises(CacheError, match="net-c1-eth0"):
        strict.read("net", Attachment("c1"))
    assert list(strict) == []
    strict.remove("net", Attachment("c1"))
    assert strict.read("net", Attachment("c1")) is None


def test_no_directory_is_an_empty_one(strict: Store) -> None:
    """Nothing is made by looking."""
    assert list(strict) == []
    assert strict.read("net", Attachment("c1")) is None


def test_the_configuration_is_kept_as_bytes(strict: Store) -> None:
    """DEL is made from it alone."""
    place = strict.write(kept())
    assert base64.b64decode(json.loads(place.read_bytes())["config"]) == CONFIG
