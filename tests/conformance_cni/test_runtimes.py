"""The bench that runtimes are judged on: what it puts in place, sees, and takes away again."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cni.runtimes.bench import Bench
from conformance.cni.runtimes.calls import RecorderJournal
from conformance.cni.runtimes.checks import differences, undone
from conformance.cni.runtimes.cri import CriRuntime
from conformance.cni.runtimes.daemon import Daemon
from conformance.cni.runtimes.ours import Ours
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.subject import IDS
from conformance.cni.settings import CniSettings
from conformance.engine.scope import CaseScope
from conformance.engine.verdict import Broken
from refimpl.cni.execute import Log
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint


@pytest.fixture
def bench() -> Iterator[Bench]:
    """Our strict runtime on the bench."""
    on_bench = Bench(Ours(), Log(), "run", CniSettings())
    yield on_bench
    on_bench.close()


def test_a_pod_is_seen_from_add_to_delete(bench: Bench) -> None:
    """And what was asked of the runtime stands between the calls of the plugins."""
    runtime = RuntimeUnderTest(bench, CaseScope())
    runtime.use("a", "b")
    pod = runtime.started()
    assert runtime.ended(pod) == ""
    assert runtime.steps()[:4] == ["a ADD", "b ADD", "b DEL", "a DEL"]
    names = [call.rpc for call in bench.log.since(0)]
    assert names[:4] == ["a ADD", "b ADD", "fake run", "b DEL"]


def test_a_case_sees_no_calls_of_another(bench: Bench) -> None:
    """A DEL that comes late belongs to the case whose pod it ends."""
    first = RuntimeUnderTest(bench, CaseScope())
    first.use("a")
    pod = first.started()
    second = RuntimeUnderTest(bench, CaseScope())
    second.use("b")
    first.stop(pod)
    second.started()
    assert second.steps() == ["b ADD"]


def test_what_is_recorded_once_is_not_among_the_calls_of_a_case(bench: Bench) -> None:
    """But a finding about it shows it."""

    def record(other: RuntimeUnderTest) -> list[str]:
        other.use("a")
        other.started()
        return other.steps()

    assert RuntimeUnderTest(bench, CaseScope()).once("session", record) == ["a ADD"]
    runtime = RuntimeUnderTest(bench, CaseScope())
    assert runtime.once("session", record) == ["a ADD"]
    assert runtime.steps() == []
    assert "a ADD" in [call.rpc for call in bench.shown]


def test_what_was_there_before_is_there_after_and_nothing_else() -> None:
    """The folders are a user's."""
    subject = Ours()
    theirs = subject.conf_dir / "10-theirs.conflist"
    theirs.write_text("{}")
    (subject.bin_dirs[0] / "bridge").touch()
    bench = Bench(subject, Log(), "run", CniSettings())
    scope = CaseScope()
    runtime = RuntimeUnderTest(bench, scope)
    runtime.files.write(b"{}")
    runtime.tell("a", ADD={"error": {"code": 111, "msg": "no"}})
    scope.close()
    bench.recorders.remove()
    assert sorted(os.listdir(subject.conf_dir)) == ["10-theirs.conflist"]
    assert sorted(os.listdir(subject.bin_dirs[0])) == ["bridge"]
    bench.close()


@pytest.mark.parametrize("name", ["10-net.conflist", "00-a.conflist", "!first.conflist"])
def test_our_file_comes_first(bench: Bench, name: str) -> None:
    """Runtimes take the first by name."""
    (bench.subject.conf_dir / name).touch()
    runtime = RuntimeUnderTest(bench, CaseScope())
    assert runtime.files.path().name < name
    assert runtime.files.path(1).name < runtime.files.path(2).name < name


def test_a_plugin_without_its_delete_is_told_with_all_that_happened(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finding nobody can follow is none."""
    runtime = RuntimeUnderTest(bench, CaseScope())
    runtime.use("a")
    pod = runtime.started()
    monkeypatch.setattr(bench.subject, "known", lambda _pod: False)
    assert undone(runtime, pod) == ("a had ADD and no DEL, nobody can ask for it any more (a ADD)")


def test_a_network_that_is_not_taken_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as a pod without a network some lines later."""
    runtime = RuntimeUnderTest(bench, CaseScope())
    monkeypatch.setattr(bench.subject, "loaded", lambda *_: False)
    assert not runtime.offer(runtime.network("a"), limit_s=0.01)


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    """Plugins append while we read."""
    path = tmp_path / "journal"
    whole = (
        b'{"call": "1", "plugin": "x-a", "verb": "ADD", "env": {}, "stdin": "", "start_ns": 1,'
        b' "pid": 1, "netns_inode": null, "own_inode": 2}\n'
    )
    journal = RecorderJournal(path)
    assert journal.calls() == []
    path.write_bytes(whole[:20])
    assert journal.calls() == []
    path.write_bytes(whole)
    assert [call.step for call in journal.calls()] == ["a ADD"]


@pytest.mark.parametrize(
    ("sent", "wanted", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": True}, {"a": 1}, ["/a is true instead of 1"]),
        ({}, {"a": {"b": 1}}, ["/a is gone"]),
        ({"a": [1, {"b": 2}]}, {"a": [1, {}]}, ["/a/1/b is new"]),
    ],
)
def test_differences_are_named_by_their_place(
    sent: object, wanted: object, found: list[str]
) -> None:
    """In a document of fifty members one is wrong."""
    assert differences(sent, wanted) == found


def test_a_profile_is_judged_under_its_name() -> None:
    """So that a report of `fake:go-cni` is not taken for one of the strict runtime."""
    subject = Ours("go-cni")
    assert (subject.name, subject.profile.name) == ("fake:go-cni", "go-cni")
    assert IDS not in subject.lacks
    subject.close()


def test_a_socket_where_nobody_listens_is_unreachable(tmp_path: Path) -> None:
    """One sentence, not 58 failures."""
    with pytest.raises(Unreachable):
        CriRuntime(f"unix://{tmp_path}/none.sock", CniSettings(), "run")


def test_an_error_while_recording_is_the_finding_of_every_case(bench: Bench) -> None:
    """They all stand on it."""

    def record(_runtime: object) -> None:
        raise Broken("rule", "wanted", "got")

    for _ in range(2):
        with pytest.raises(Broken, match="rule"):
            RuntimeUnderTest(bench, CaseScope()).once("session", record)


def test_a_daemon_is_whoever_listens_and_its_paths_are_seen_through_its_root(
    tmp_path: Path,
) -> None:
    """It may run in a mount namespace of its own; /var/run is a link there as here."""
    daemon = Daemon(Endpoint.parse(f"unix://{tmp_path}/s"))
    with pytest.raises(OSError, match="No such file"):
        daemon.reach("/run")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        root = f"/proc/{os.getpid()}/root"
        assert daemon.reach("/var/run/netns/x") == Path(f"{root}/run/netns/x")
        assert daemon.reach(str(tmp_path)).samefile(tmp_path)


def test_files_of_a_case_go_with_it_though_it_made_them_by_itself(bench: Bench) -> None:
    """A link, a file that was moved there."""
    scope = CaseScope()
    runtime = RuntimeUnderTest(bench, scope)
    first = runtime.files.write(b"{}")
    linked = runtime.files.path(2)
    runtime.files.making(linked)
    linked.symlink_to(first)
    scope.close()
    assert os.listdir(bench.subject.conf_dir) == []
