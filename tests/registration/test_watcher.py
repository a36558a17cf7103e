"""When kubelet asks, and when it does not, on a clock that the test moves."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from refimpl.registration.watcher import TABLE, PluginWatcher
from refimpl.wire.status import Code, Refused
from tests.registration.conftest import Handler, Scripted, Watched


def test_a_socket_that_was_there_before_is_found_and_a_deep_one_too(
    watched: Watched, scripted: Scripted, folder: Path
) -> None:
    """REG-002, REG-003: a driver's folder may be made after the watcher has started."""
    scripted("early.sock", plugin="early")
    watched.registered("early")
    (folder / "a" / "b").mkdir(parents=True)
    scripted("a/b/deep.sock", plugin="deep")
    watched.registered("deep", "early")


def test_what_is_hidden_or_no_socket_is_not_asked(
    watched: Watched, scripted: Scripted, folder: Path
) -> None:
    """REG-004, REG-005: but a link to a socket is followed."""
    hidden = scripted(".hidden.sock")
    (folder / "file.sock").touch()
    os.mkfifo(folder / "fifo.sock")
    (folder / "link.sock").symlink_to(hidden.path)
    watched.registered("driver.example.com")
    assert [p.socket for p in watched.watcher.plugins] == [str(folder / "link.sock")]
    assert watched.watcher.problems == {}


def test_retries_become_rare_and_never_busy(watched: Watched, scripted: Scripted) -> None:
    """REG-007: half a second, doubled up to 122 s; nothing is called in between."""
    plugin = scripted(start=False)
    plugin.refusals = {"GetInfo": Code.UNIMPLEMENTED}
    plugin.start()
    for number, delay in enumerate([0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122], 1):
        assert "GetInfo: UNIMPLEMENTED" in watched.failed(plugin, delay)
        assert len(plugin.calls) == number
        watched.now += delay - 0.01
        watched.watcher.step()
        assert len(plugin.calls) == number
        watched.now += 0.01


def test_a_socket_that_goes_takes_its_plugin_with_it(watched: Watched, scripted: Scripted) -> None:
    """REG-018, REG-022: and no other one."""
    gone = scripted("a.sock")
    scripted("b.sock")
    watched.until(lambda: len(watched.watcher.plugins) == 2)
    gone.stop()
    watched.registered("driver.example.com")
    watched.until(lambda: len(watched.seen) == 3)
    assert watched.seen[-1] == "deregister driver.example.com a.sock"


def test_a_socket_that_is_bound_again_is_taken_out_and_in(
    watched: Watched, scripted: Scripted
) -> None:
    """REG-019: in that order, however quick it was."""
    first = scripted()
    watched.registered("driver.example.com")
    first.stop()
    scripted(plugin="second")
    watched.registered("second")
    assert watched.seen == [
        "register driver.example.com plugin.sock",
        "deregister driver.example.com plugin.sock",
        "register second plugin.sock",
    ]


def test_a_socket_that_takes_the_place_of_another_is_registered(
    watched: Watched, scripted: Scripted, folder: Path
) -> None:
    """REG-020: nothing was ever missing, and yet it is another plugin."""
    scripted()
    watched.registered("driver.example.com")
    other = scripted(".other.sock", plugin="other")
    os.rename(other.path, folder / "plugin.sock")
    watched.registered("other")
    assert [event.partition(" ")[0] for event in watched.seen] == [
        "register",
        "deregister",
        "register",
    ]


def test_two_sockets_of_one_name_are_two_plugins_here(watched: Watched, scripted: Scripted) -> None:
    """REG-021, REG-027: which of them counts is the handler's business, by profile."""
    scripted("a.sock")
    scripted("b.sock")
    watched.registered("driver.example.com", "driver.example.com")
    assert len(watched.seen) == 2


def test_types_do_not_get_into_each_others_way(watched: Watched, scripted: Scripted) -> None:
    """REG-023: each has a handler of its own, and one that refuses stops no other."""
    watched.handlers["CSIPlugin"].refusal = Refused(Code.UNAVAILABLE, "no")
    scripted("dra.sock")
    scripted("csi.sock", type="CSIPlugin", plugin="csi", versions=("1.0.0",))
    scripted("dev.sock", type="DevicePlugin", plugin="example.com/gpu", versions=("v1beta1",))
    watched.registered("driver.example.com", "example.com/gpu")
    watched.until(lambda: len(watched.watcher.problems) == 1)
    assert watched.handlers["DevicePlugin"].seen == ["register example.com/gpu dev.sock"]


def test_forty_plugins_at_once_are_all_registered(watched: Watched, scripted: Scripted) -> None:
    """REG-024: as after a node's start; test_watch has two hundred sockets."""
    watched.watcher.step()
    names = [f"driver-{number}" for number in range(40)]
    for name in names:
        scripted(f"{name}.sock", plugin=name)
    watched.registered(*names)


def test_a_process_that_dies_is_not_noticed_while_its_socket_stays(
    watched: Watched, scripted: Scripted, folder: Path
) -> None:
    """REG-025, REG-032: it is the stream of its service that ends."""
    plugin = scripted(".bound.sock")
    os.link(plugin.path, folder / "plugin.sock")
    watched.registered("driver.example.com")
    plugin.stop()
    scripted("other.sock", plugin="other")
    watched.registered("driver.example.com", "other")
    assert "deregister driver.example.com plugin.sock" not in watched.seen


def test_a_watcher_that_starts_again_registers_all_without_touching_a_socket(
    watched: Watched, scripted: Scripted
) -> None:
    """REG-026, REG-029: plugins have nothing to do, other than in the folder of device plugins."""
    plugin = scripted()
    inode = os.stat(plugin.path).st_ino
    watched.registered("driver.example.com")
    watched.watcher.stop()
    assert watched.watcher.plugins == ()
    assert watched.seen == ["register driver.example.com plugin.sock"]
    watched.registered("driver.example.com")
    assert os.stat(plugin.path).st_ino == inode
    assert len(plugin.service.notified) == 2


@pytest.mark.parametrize("then", ["gone", "another"])
def test_what_happens_during_an_attempt_counts_after_it(
    watched: Watched, scripted: Scripted, then: str
) -> None:
    """One operation for a socket at a time: it is taken out once it has been taken in."""
    handler = watched.handlers["DRAPlugin"]
    handler.held = threading.Event()
    os.rename(scripted(".hidden.sock").path, watched.watcher.folder + "/plugin.sock")
    watched.until(lambda: len(handler.seen) == 1)
    if then == "gone":
        os.unlink(watched.watcher.folder + "/plugin.sock")
    else:
        other = scripted(".other.sock", plugin="other")
        os.rename(other.path, watched.watcher.folder + "/plugin.sock")
    watched.watcher.step()
    handler.held.set()
    expected = ["register driver.example.com plugin.sock"]
    expected += ["deregister driver.example.com plugin.sock"]
    expected += ["register other plugin.sock"] if then == "another" else []
    watched.until(lambda: handler.seen == expected)
    watched.registered(*(["other"] if then == "another" else []))


def test_a_path_keeps_its_backoff_when_its_socket_goes(
    watched: Watched, scripted: Scripted
) -> None:
    """A plugin that crashes over and over at one path is not dialled each time."""
    plugin = scripted(start=False)
    plugin.refusals = {"GetInfo": Code.UNIMPLEMENTED}
    plugin.start()
    watched.failed(plugin, 0.5)
    plugin.stop()
    watched.until(lambda: watched.watcher.problems == {})
    second = scripted(plugin="second")
    watched.until(lambda: bool(watched.watcher.problems))
    assert second.calls == []
    watched.now += 0.5
    watched.registered("second")


def test_it_runs_by_itself_too(folder: Path, scripted: Scripted) -> None:
    """Started, it needs no steps; `wake` has it look at a clock that was moved."""
    now = [0.0]
    handler = Handler("v1.DRAPlugin")
    handler.refusal = ValueError("not yet")
    with PluginWatcher(folder, {"DRAPlugin": handler}, clock=lambda: now[0]) as watcher:
        scripted()
        assert watcher.wait(lambda: bool(watcher.problems))
        handler.refusal = None
        now[0] += 0.5
        watcher.wake()
        assert watcher.wait(lambda: len(watcher.plugins) == 1)
        with pytest.raises(RuntimeError, match="stop that first"):
            watcher.start()
        assert not watcher.wait(lambda: False, 0)
    watcher.stop()
    assert watcher.plugins == ()


def test_stopping_does_not_wait_for_a_plugin_that_hangs(
    watched: Watched, scripted: Scripted
) -> None:
    """Its call is cancelled; nothing happens afterwards."""
    plugin = scripted(start=False)
    plugin.held = {"GetInfo"}
    plugin.start()
    watched.until(lambda: plugin.calls == ["GetInfo"])
    watched.watcher.stop()
    ended = threading.Event()
    threading.Thread(target=lambda: (plugin.stop(), ended.set())).start()
    assert ended.wait(30)
    assert watched.seen == []


def test_the_folder_is_made(folder: Path) -> None:
    """Kubelet makes it with mode 0755 (1.3)."""
    with PluginWatcher(folder / "registry", {}):
        assert (folder / "registry").is_dir()


def test_the_table_is_whole() -> None:
    """Every state has an answer to all that can happen in it, and leads to states of the table."""
    states = {state for state, _ in TABLE}
    assert {state for _, state in TABLE.values()} == states
    running = ("registering", "outdated", "leaving")
    for state in states:
        known = {what for each, what in TABLE if each == state}
        assert ("failed" in known) == (state in running)
        assert ("done" in known) == (state in running or state in ("deregistering", "renewing"))
        assert ("due" in known) == (state == "waiting")
        # A socket goes only from where one is.
        there = state not in ("absent", "leaving", "deregistering")
        assert ("gone" in known) == there
        assert "appeared" in known
