"""Networks in a folder: order, what counts as a configuration, plugins of the sub-directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyfakefs.fake_filesystem import FakeFilesystem, set_uid

from refimpl.cni import config

LIST: dict[str, Any] = {"name": "net", "cniVersion": "1.1.0", "plugins": [{"type": "bridge"}]}


def put(path: Path, document: Any) -> Path:
    """A file with that document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_lists_come_before_single_plugins(tmp_path: Path) -> None:
    """A search by name reads every .conflist before it looks at .conf and .json."""
    for name in ("30.json", "20.conf", "9.conflist", "10.conflist", "Z.conflist"):
        (tmp_path / name).touch()
    names = [path.name for path in config.discover(tmp_path)]
    assert names == ["10.conflist", "9.conflist", "Z.conflist", "20.conf", "30.json"]


def test_only_exact_extensions_of_files_count(tmp_path: Path) -> None:
    """Letter case counts, a hidden file is a file, a directory is none."""
    for name in ("a.CONF", "a.conf.bak", "a.conflist~", "a.yaml", "a", ".b.conf", ".conf"):
        (tmp_path / name).touch()
    (tmp_path / "d.conf").mkdir()
    (tmp_path / "dangling.conf").symlink_to("nowhere")
    names = [path.name for path in config.discover(tmp_path)]
    assert names == [".b.conf", ".conf", "dangling.conf"]


def test_a_missing_folder_has_no_configurations(tmp_path: Path) -> None:
    """The network add-on that fills it may not have started yet."""
    assert config.discover(tmp_path / "missing") == []


def test_plugins_of_the_sub_directory_are_appended_by_name(tmp_path: Path) -> None:
    """The list's author and that of an add-on need not know each other."""
    path = put(tmp_path / "10-net.conflist", LIST)
    put(tmp_path / "net" / "20-b.conf", {"type": "portmap"})
    put(tmp_path / "net" / "10-a.conf", {"type": "tuning"})
    put(tmp_path / "net" / "05-c.conflist", {"type": "ignored"})
    put(tmp_path / "net" / "deeper.conf" / "x.conf", {"type": "ignored"})
    network = config.load(path)
    assert [plugin.type for plugin in network.plugins] == ["bridge", "tuning", "portmap"]
    assert network.source == path
    assert network.bytes == path.read_bytes()
    assert config.parse(config.dump(network)).plugins == network.plugins


def test_the_sub_directory_may_supply_all_plugins(tmp_path: Path) -> None:
    """The list then has a name and a version only."""
    path = put(tmp_path / "n.conflist", {"name": "net", "cniVersion": "1.1.0"})
    put(tmp_path / "net" / "a.conf", {"type": "bridge"})
    assert [plugin.type for plugin in config.load(path).plugins] == ["bridge"]


def test_the_flag_keeps_the_sub_directory_out(tmp_path: Path) -> None:
    """true means: what is in the file, and nothing else."""
    path = put(tmp_path / "n.conflist", {**LIST, "loadOnlyInlinedPlugins": True})
    put(tmp_path / "net" / "a.conf", {"type": "portmap"})
    assert [plugin.type for plugin in config.load(path).plugins] == ["bridge"]


def test_a_single_plugin_has_no_sub_directory(tmp_path: Path) -> None:
    """Those documents are older than the merge."""
    path = put(tmp_path / "n.conf", {"name": "net", "cniVersion": "0.4.0", "type": "bridge"})
    put(tmp_path / "net" / "a.conf", {"type": "portmap"})
    assert [plugin.type for plugin in config.load(path).plugins] == ["bridge"]


def test_no_plugins_anywhere_is_an_error(tmp_path: Path) -> None:
    """The message names the folder that was looked into."""
    path = put(tmp_path / "n.conflist", {"name": "net", "cniVersion": "1.1.0"})
    with pytest.raises(config.ConfigError, match="has no plugins") as caught:
        config.load(path)
    assert str(tmp_path / "net") in str(caught.value)


def test_a_defect_in_the_sub_directory_names_its_file(tmp_path: Path) -> None:
    """The file at fault is not the one that was asked for."""
    path = put(tmp_path / "n.conflist", LIST)
    broken = put(tmp_path / "net" / "a.conf", {"tipe": "portmap"})
    with pytest.raises(config.ConfigError) as caught:
        config.load(path)
    assert str(caught.value).startswith(f"{broken}:1:1: ")


def test_a_file_that_cannot_be_read_is_a_config_error(tmp_path: Path) -> None:
    """Whoever loads catches one exception."""
    with pytest.raises(config.ConfigError, match="No such file"):
        config.load(tmp_path / "missing.conflist")


def test_a_sub_directory_that_cannot_be_listed_is_a_config_error(fs: FakeFilesystem) -> None:
    """Leaving its plugins out silently would be another network."""
    fs.create_file("/net.d/n.conflist", contents=json.dumps(LIST))
    fs.create_dir("/net.d/net")
    fs.chmod("/net.d/net", 0o000)
    set_uid(1000)
    with pytest.raises(config.ConfigError, match=r"/net\.d/net: Permission denied"):
        config.load(Path("/net.d/n.conflist"))
