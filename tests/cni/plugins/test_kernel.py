"""The kernel in a file."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from refimpl.cni.plugins import CniError, kernel


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "kernel.json")


def test_changes_of_many_do_not_get_lost(path) -> None:
    """One at a time, each on what the one before left."""

    def one(n: int) -> None:
        with kernel.Change(path) as state:
            state["namespaces"]["host"]["rules"].append(str(n))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(64)))
    rules = kernel.read(path)["namespaces"]["host"]["rules"]
    assert sorted(map(int, rules)) == list(range(64))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_an_exception_leaves_the_file_as_it_was(path) -> None:
    """Half a change is none, and the lock is free again."""
    with kernel.Change(path) as state:
        state["own"] = "a"

    def broken() -> None:
        with kernel.Change(path) as state:
            state["own"] = "b"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    with kernel.Change(path) as state:
        assert state["own"] == "a"


def test_looking_writes_nothing(path) -> None:
    """Neither a read nor a change that changes nothing."""
    kernel.read(path)
    assert not os.path.exists(path)
    with kernel.Change(path):
        pass
    assert not os.path.exists(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]"])
def test_a_broken_file_is_an_input_output_error(path, content) -> None:
    """It is named, and not taken for an empty machine."""
    with open(path, "wb") as file:
        file.write(content)
    with pytest.raises(CniError, match=r"kernel\.json") as caught, kernel.Change(path):
        pass
    assert caught.value.code == 5


def test_a_folder_that_is_missing_is_an_input_output_error(tmp_path) -> None:
    """The lock cannot be made there."""
    with pytest.raises(CniError) as caught, kernel.Change(str(tmp_path / "no" / "kernel.json")):
        pass
    assert caught.value.code == 5


def test_a_path_is_told_for_what_it_is(tmp_path) -> None:
    """By its content and by what it leads to."""
    state = kernel.empty()
    one = tmp_path / "one"
    one.write_text("netns abc\n")
    state["namespaces"][str(one)] = kernel.new_namespace("abc")
    link = tmp_path / "link"
    link.symlink_to(one)
    plain = tmp_path / "plain"
    plain.write_text("netns other\n")
    kinds = {
        str(p): kernel.state_of(state, str(p)) for p in (one, link, plain, tmp_path, "", "x\0")
    }
    assert list(kinds.values()) == [
        "simulated",
        "simulated",
        "not a namespace",
        "not a namespace",
        "missing",
        "missing",
    ]
    assert kernel.namespace(state, str(link)) is kernel.namespace(state, str(one))
    assert kernel.state_of(state, "/proc/self/ns/net") == "real"
    assert kernel.state_of(state, "/proc/self/ns/mnt") == "not a namespace"
    assert kernel.is_own(state, "/proc/self/ns/net")
    one.write_text("replaced")
    assert kernel.state_of(state, str(one)) == "not a namespace"


def test_a_pair_goes_together() -> None:
    """Whichever end is removed, with the routes through it."""
    state = kernel.empty()
    host = state["namespaces"]["host"]
    inner = state["namespaces"]["/n"] = kernel.new_namespace("n")
    host["links"]["veth0"] = {**kernel.loopback(), "pair": "p"}
    inner["links"]["eth0"] = {**kernel.loopback(), "pair": "p"}
    inner["routes"] = [{"dst": "::/0", "gw": "", "dev": "eth0"}]
    kernel.remove_link(state, host, "veth0")
    kernel.remove_link(state, host, "never")
    assert set(inner["links"]) == set(host["links"]) == {"lo"}
    assert inner["routes"] == []
