"""Files are read whatever they are, and written whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.cdi import files
from refimpl.cdi.files import Form, SpecError, dump, file_name, load, parse, remove, write
from refimpl.cdi.model import (
    ContainerEdits,
    Device,
    DeviceNode,
    Hook,
    IntelRdt,
    Mount,
    NetDevice,
    Spec,
)
from refimpl.cdi.rules import Policy

Put = Callable[..., Path]  # see conftest.py

GPU = Spec("1.1.0", "vendor.com/gpu", devices=[Device("0", {}, ContainerEdits(env=["A=b"]))])


def test_a_file_is_loaded_with_its_priority(put: Put) -> None:
    """The specification and no findings."""
    path = put("a.json")
    loaded = load(path, priority=1)
    assert loaded.spec is not None
    assert loaded.spec.kind == "vendor.com/gpu"
    assert (loaded.path, loaded.priority, loaded.findings) == (str(path), 1, ())


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    """Missing, a directory, a link to itself, a FIFO: none of them raises or waits."""
    (tmp_path / "directory.yaml").mkdir()
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(tmp_path / "fifo.yaml")
    for name in ("missing.yaml", "directory.yaml", "loop.yaml", "fifo.yaml"):
        loaded = load(tmp_path / name)
        assert loaded.spec is None
        (finding,) = loaded.findings
        assert (finding.rule, finding.file) == ("unreadable", str(tmp_path / name))
    assert "no regular file" in str(load(tmp_path / "fifo.yaml").findings[0])


def test_a_text_that_is_no_specification_raises_all_its_errors() -> None:
    """And keeps the findings for programs."""
    with pytest.raises(SpecError, match="is no CDI specification") as caught:
        parse(b"cdiVersion: 9.9.9\nkind: foo\n", name="a.yaml")
    assert {finding.rule for finding in caught.value.findings} == {
        "version-unknown",
        "kind",
        "no-devices",
    }
    assert "a.yaml:1:13: error: version '9.9.9' is unknown" in str(caught.value)


@pytest.mark.parametrize(
    ("transient", "form", "name"),
    [("", "yaml", "vendor.com-gpu.yaml"), ("claim/1", "json", "vendor.com-gpu_claim_1.json")],
)
def test_a_file_is_named_after_what_it_defines(transient: str, form: Form, name: str) -> None:
    """So that each driver finds its own again."""
    assert file_name(GPU, transient_id=transient, form=form) == name


def test_writing_makes_the_directory_and_a_file_that_everyone_reads(tmp_path: Path) -> None:
    """Nothing temporary stays beside it."""
    path = write(GPU, tmp_path / "run" / "cdi")
    assert os.listdir(path.parent) == ["vendor.com-gpu.yaml"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert load(path).spec == GPU


def test_a_given_name_chooses_the_form(tmp_path: Path) -> None:
    """Without an ending that is searched for, YAML's is added."""
    assert write(GPU, tmp_path, name="x.json").read_bytes().startswith(b"{")
    assert write(GPU, tmp_path, name="x.conf").name == "x.conf.yaml"
    remove(tmp_path, "x.json")
    remove(tmp_path, "x.conf")
    remove(tmp_path, "x.conf")
    assert os.listdir(tmp_path) == []


def test_what_would_not_load_is_not_written(tmp_path: Path) -> None:
    """The old file stays."""
    write(GPU, tmp_path)
    broken = Spec("0.3.0", "vendor.com/gpu", devices=GPU.devices)
    with pytest.raises(SpecError, match="is not written"):
        write(broken, tmp_path)
    assert load(tmp_path / "vendor.com-gpu.yaml").spec == GPU


def test_a_file_is_replaced_only_where_that_is_allowed(tmp_path: Path) -> None:
    """Two drivers of one vendor must not take each other's file."""
    write(GPU, tmp_path)
    with pytest.raises(FileExistsError):
        write(GPU, tmp_path, overwrite=False)
    assert os.listdir(tmp_path) == ["vendor.com-gpu.yaml"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is not the time to lose a device."""
    path = write(GPU, tmp_path)
    original = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(GPU, tmp_path, form="yaml")
    assert (os.listdir(tmp_path), path.read_bytes()) == ([path.name], original)


_WORD = st.text("ab0:#=-' \"\n\t~<{é\\", max_size=6)
_LINE = st.sampled_from(["yes", "007", "0o17", "1e3", "null", "2001-01-01", "<<", "=", "|", ""])
_TEXT = _WORD | _LINE
_FILLED = _TEXT.filter(bool)
_ID = st.integers(0, 2**32 - 1)
_ENV = st.lists(st.builds("{}={}".format, st.sampled_from(["A", "no", "1"]), _TEXT), max_size=2)
_PATH = st.builds("/{}".format, _TEXT)
_EDITS = st.builds(
    ContainerEdits,
    env=st.lists(st.builds("E={}".format, _TEXT), min_size=1, max_size=2),
    device_nodes=st.lists(
        st.builds(
            DeviceNode,
            path=_PATH,
            host_path=_PATH | st.just(""),
            type=st.sampled_from(["", "b", "c", "u", "p"]),
            major=st.integers(0, 2**63 - 1),
            file_mode=st.none() | _ID,
            permissions=st.sampled_from(["", "rw", "none"]),
            uid=st.none() | _ID,
        ),
        max_size=2,
    ),
    net_devices=st.lists(st.builds(NetDevice, _FILLED, _FILLED), max_size=1),
    hooks=st.lists(
        st.builds(
            Hook, st.just("poststop"), _PATH, st.lists(_TEXT, max_size=2), _ENV,
            st.none() | st.integers(1, 9),
        ),
        max_size=2,
    ),
    mounts=st.lists(
        st.builds(Mount, _FILLED, _FILLED, st.lists(_TEXT, max_size=2), _TEXT), max_size=2
    ),
    intel_rdt=st.none() | st.builds(
        IntelRdt, st.sampled_from(["", "/", "x"]), _TEXT, _TEXT, st.lists(_TEXT), st.booleans()
    ),
    additional_gids=st.lists(_ID, max_size=2),
)  # fmt: skip
_NOTES = st.dictionaries(st.sampled_from(["a", "yes", "b.c/d", "1"]), _TEXT, max_size=2)
_SPECS = st.builds(
    Spec,
    st.just("1.1.0"),
    st.sampled_from(["vendor.com/gpu", "a/b.c"]),
    _NOTES,
    st.lists(
        st.builds(Device, st.sampled_from(["0", "007", "no", "1e3", "a"]), _NOTES, _EDITS),
        min_size=1,
        max_size=3,
        unique_by=lambda device: device.name,
    ),
    _EDITS,
)


@given(_SPECS, st.sampled_from(["yaml", "json"]), st.sampled_from(["strict", "practice"]))
def test_what_is_rendered_loads_as_it_was(spec: Spec, form: Form, policy: Policy) -> None:
    """CDI-059: and renders the same again; no reader takes a text for a number."""
    text = dump(spec, form)
    loaded = parse(text, name=f"a.{form}", policy=policy)
    assert loaded == spec
    assert dump(loaded, form) == text
