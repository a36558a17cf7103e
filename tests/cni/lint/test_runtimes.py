"""What each runtime does with a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refimpl.cni.lint import Choice

Folder = Callable[..., Any]


def network(name: str, **members: Any) -> dict[str, Any]:
    """A sound list."""
    return {"cniVersion": "1.0.0", "name": name, "plugins": [{"type": "bridge"}], **members}


def single(name: str) -> dict[str, Any]:
    """A sound single plugin's document."""
    return {"cniVersion": "0.4.0", "name": name, "type": "bridge"}


def choices(report: Any) -> dict[str, Choice]:
    """The choices by runtime."""
    return {choice.runtime: choice for choice in report.checked[0].choices}


def test_the_first_file_by_name_is_the_default(folder: Folder) -> None:
    """Whatever its extension."""
    chosen = choices(folder({"20.conflist": network("b"), "10.conf": single("a")}))
    assert (chosen["containerd"].uses, chosen["CRI-O"].uses) == ("10.conf", "10.conf")
    assert chosen["containerd"].networks == {"a": "10.conf"}
    assert chosen["containerd"].skipped == {"20.conflist": "max_conf_num is 1: not read"}
    assert chosen["CRI-O"].networks == {"a": "10.conf", "b": "20.conflist"}
    assert chosen["libcni, cnitool"].uses == ""
    assert chosen["libcni, cnitool"].networks == {"a": "10.conf", "b": "20.conflist"}


def test_a_bad_first_file_stops_containerd_and_not_cri_o(folder: Folder) -> None:
    """nerdctl gives up as well, whatever the bad file's place."""
    chosen = choices(folder({"10.conflist": b"{", "20.conflist": network("b")}))
    assert chosen["containerd"].uses == ""
    assert "10.conflist" in chosen["containerd"].why
    assert chosen["CRI-O"].uses == "20.conflist"
    assert set(chosen["CRI-O"].skipped) == {"10.conflist"}
    assert chosen["libcni, cnitool"].networks == {}
    assert chosen["nerdctl"].networks == {}


def test_a_bad_later_file_is_never_read_by_containerd(folder: Folder) -> None:
    """It stops as soon as it has as many networks as it wants."""
    chosen = choices(folder({"10.conflist": network("a"), "20.conflist": b"{"}))
    assert chosen["containerd"].uses == "10.conflist"
    assert chosen["nerdctl"].networks == {}
    assert "20.conflist" in chosen["nerdctl"].why


def test_a_search_by_name_ends_at_a_bad_file(folder: Folder) -> None:
    """Names in files before it are found."""
    chosen = choices(
        folder({"1.conflist": network("a"), "2.conflist": b"", "3.conflist": network("c")})
    )["libcni, cnitool"]
    assert chosen.networks == {"a": "1.conflist"}
    assert "ends at 2.conflist" in chosen.skipped["3.conflist"]


def test_of_one_name_the_first_or_the_last_or_the_list_wins(folder: Folder) -> None:
    """Three files, three answers."""
    chosen = choices(
        folder({"1.conf": single("a"), "2.conflist": network("a"), "3.conf": single("a")})
    )
    assert chosen["CRI-O"].networks == {"a": "1.conf"}
    assert chosen["libcni, cnitool"].networks == {"a": "2.conflist"}
    assert chosen["nerdctl"].networks == {"a": "3.conf"}
    assert set(chosen["CRI-O"].skipped) == {"2.conflist", "3.conf"}
    assert set(chosen["nerdctl"].skipped) == {"1.conf", "2.conflist"}


def test_nerdctl_has_a_default_by_label_or_by_name(folder: Folder) -> None:
    """Else it makes one."""
    documents = {"1.conflist": network("a")}
    assert choices(folder(documents))["nerdctl"].uses == ""
    documents["2.conflist"] = network("bridge")
    assert choices(folder(documents))["nerdctl"].uses == "2.conflist"
    documents["3.conflist"] = network("c", nerdctlLabels={"nerdctl/default-network": "true"})
    assert choices(folder(documents))["nerdctl"].uses == "3.conflist"


def test_cri_o_leaves_out_networks_whose_plugins_are_not_there(
    folder: Folder, tmp_path: Path
) -> None:
    """It asks every plugin for its versions while it loads."""
    (tmp_path / "bridge").touch(mode=0o755)
    (tmp_path / "old").touch(mode=0o755)
    documents = {
        "1.conflist": network("a", plugins=[{"type": "missing"}]),
        "2.conflist": network("b", plugins=[{"type": "old"}]),
        "3.conflist": network("c"),
    }
    versions = {"old": ["0.4.0"], "bridge": ["1.0.0"]}
    report = folder(documents, cni_path=[tmp_path], versions_of=lambda path: versions[path.name])
    chosen = choices(report)["CRI-O"]
    assert (chosen.uses, chosen.networks) == ("3.conflist", {"c": "3.conflist"})
    assert "not installed" in chosen.skipped["1.conflist"]
    assert "does not support" in chosen.skipped["2.conflist"]
    assert choices(report)["containerd"].uses == "1.conflist"


@pytest.mark.parametrize(
    ("name", "document", "loads"),
    [
        ("n.conflist", network("n"), True),
        ("n.conflist", {**network("n"), "disableCheck": "true"}, True),
        ("n.conflist", {**network("n"), "disableCheck": "maybe"}, False),
        ("n.conflist", network("a b"), True),
        ("n.conflist", {"plugins": [{"type": "t"}]}, False),
        ("n.conflist", network("n", plugins=[]), False),
        ("n.conflist", network("n", plugins=[{}]), False),
        ("n.conflist", network("n", plugins=[{"type": "t", "capabilities": []}]), False),
        ("n.conflist", network("n", plugins=[{"type": "t", "ipam": {}}]), True),
        ("n.conflist", network("n", cniVersion="2.0.0"), True),
        ("n.conflist", network("n", cniVersion=1), False),
        ("n.conflist", single("n"), False),
        ("n.conflist", {"name": "n", "cniVersion": "1.1.0"}, False),
        ("n.conf", single("n"), True),
        ("n.conf", network("n"), False),
        ("n.conf", {"type": "t"}, True),
        ("n.conf", {"type": "t", "name": None, "plugins": [1]}, True),
        ("n.conf", {"type": "t", "name": 5}, False),
        ("n.conflist", network("n", cniVersions=["1.1"]), True),
        ("n.conflist", network("n", cniVersions=["v1.1"]), False),
        ("n.conflist", network("n", plugins=[{"type": "t", "name": 5}]), False),
        ("n.conflist", network("n", plugins=[{"type": "t", "prevResult": 5}]), False),
        ("n.conflist", b"\xef\xbb\xbf" + b'{"name": "n", "plugins": [{"type": "t"}]}', False),
    ],
)
def test_what_loads_is_what_libcni_takes(
    folder: Folder, name: str, document: Any, loads: bool
) -> None:
    """More than the specification allows, and less than one might think."""
    assert bool(choices(folder({name: document}))["containerd"].uses) is loads


def test_an_empty_folder_is_no_network(folder: Folder) -> None:
    """Every runtime says so in its way."""
    chosen = choices(folder({"README": b""}))
    assert {choice.uses for choice in chosen.values()} == {""}
    assert all(choice.why for choice in chosen.values())
