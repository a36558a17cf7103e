"""Which networks of a folder count (rows CNI-RT-055, 056)."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl.cni.config import ConfigError
from refimpl.cni.runtime import Runtime
from refimpl.cni.runtime.discovery import find
from tests.cni.runtime.conftest import Plugins

Make = Callable[..., Runtime]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A broken file, then a list, a single plugin, a second of the same name, and a stranger."""
    conf = tmp_path / "net.d"
    conf.mkdir()
    listed = {"cniVersion": "1.1.0", "name": "b", "plugins": [{"type": "one"}]}
    (conf / "00-broken.conf").write_text("{")
    (conf / "10-b.conflist").write_text(json.dumps(listed))
    (conf / "20-a.conf").write_text(json.dumps({"cniVersion": "1.0.0", "name": "a", "type": "two"}))
    (conf / "30-b.json").write_text(json.dumps({"cniVersion": "1.0.0", "name": "b", "type": "two"}))
    (conf / "99.txt").write_text("{}")
    return conf


def test_strict_takes_the_first_that_can_be_read(runtime: Make, folder: Path) -> None:
    """RT-056: in the order of the names, whatever the extension, and says what it left out."""
    networks = find(folder, runtime())
    assert [each.name for each in networks.networks] == ["b"]
    assert len(networks.skipped) == 1
    assert "00-broken.conf:1:2" in networks.skipped[0]


def test_containerd_refuses_all_for_one(runtime: Make, folder: Path) -> None:
    """RT-056: but only up to the files it wants."""
    with pytest.raises(ConfigError, match="the whole folder is refused"):
        find(folder, runtime("go-cni"))
    (folder / "00-broken.conf").rename(folder / "15-broken.conf")
    assert [each.name for each in find(folder, runtime("go-cni")).networks] == ["b"]


def test_crio_takes_all_whose_plugins_are_there(
    runtime: Make, folder: Path, plugins: Plugins
) -> None:
    """The first of two names counts; VERSION is asked of every plugin."""
    plugins.answers["one VERSION"] = {"cniVersion": "1.1.0", "supportedVersions": ["1.1.0"]}
    plugins.answers["two VERSION"] = {"cniVersion": "1.1.0", "supportedVersions": ["1.0.0"]}
    networks = find(folder, runtime("ocicni"))
    assert [each.name for each in networks.networks] == ["b", "a"]
    assert plugins.order == ["one VERSION", "two VERSION", "two VERSION"]
    assert "network b was in a file before it" in networks.skipped[1]


def test_crio_leaves_out_a_network_whose_plugin_is_too_old_or_missing(
    runtime: Make, folder: Path, plugins: Plugins
) -> None:
    """Found at load, not when a pod starts."""
    plugins.answers["one VERSION"] = {"cniVersion": "1.0.0", "supportedVersions": ["1.0.0"]}
    (plugins.folder / "two").unlink()
    with pytest.raises(ConfigError, match=r"does not support version 1\.1\.0.*no regular file"):
        find(folder, runtime("ocicni"))


def test_an_empty_folder_is_said_to_be_one(runtime: Make, tmp_path: Path) -> None:
    """What a node waits for."""
    with pytest.raises(ConfigError, match=r"there is no \.conflist"):
        find(tmp_path, runtime())
