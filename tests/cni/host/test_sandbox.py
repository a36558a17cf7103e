"""A sandbox holds whatever real plugins do, and leaves nothing on the machine."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl.cni.host import changes, sandbox, syscalls
from refimpl.cni.host.sandbox import SandboxError

AsUser = Callable[[Callable[[], None]], None]
THREAD = Path("/proc/thread-self")


def namespaces() -> tuple[str, str]:
    return os.readlink(THREAD / "ns/net"), os.readlink(THREAD / "ns/mnt")


def machine() -> tuple[object, ...]:
    """What a sandbox could leave behind: mounts, links, entries of the covered directories."""
    return (
        (THREAD / "mountinfo").read_text(),
        socket.if_nameindex(),
        *(sorted(os.listdir(folder)) for folder in ("/run", "/var/lib")),
    )


def users_of(namespace: str) -> list[str]:
    """The processes in a network namespace, told by its link text in /proc."""
    users = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "ns/net") == namespace:
                users.append(process.name)
        except OSError:  # ended meanwhile
            continue
    return users


@pytest.mark.usefixtures("root")
class TestAsRoot:
    def test_only_a_loopback_is_inside_and_it_is_up(self) -> None:
        """Runtimes bring it up, so plugins may count on it."""
        with sandbox.enter():
            assert [name for _, name in socket.if_nameindex()] == ["lo"]
            with socket.create_server(("127.0.0.1", 0)) as server:
                socket.create_connection(server.getsockname(), timeout=5).close()

    def test_leaving_goes_back_to_namespaces_and_directory(self, tmp_path: Path) -> None:
        """Relative paths of the code around must keep their meaning."""
        before, folder = namespaces(), os.getcwd()
        os.chdir(tmp_path)
        try:
            with sandbox.enter() as entered:
                inside = namespaces()
            assert not entered.stays
            assert set(inside).isdisjoint(before)
            assert namespaces() == before
            assert os.getcwd() == str(tmp_path)
        finally:
            os.chdir(folder)

    def test_the_machine_is_as_it_was(self) -> None:
        """State that plugins keep below /run and /var/lib stays inside too."""
        before = machine()
        with sandbox.enter():
            for path in ("/run/netns/pod", "/run/xtables.lock", "/run/made", "/var/lib/made"):
                Path(path).touch()
            Path("/var/lib/cni").mkdir()
            assert machine() != before
        assert machine() == before

    def test_what_others_keep_there_is_seen_inside(self) -> None:
        """A socket of another program under /run has to be reachable from a sandbox."""
        names = set(os.listdir("/run")) - {"netns", "cni", "xtables.lock"}
        with sandbox.enter():
            for name in names:
                assert os.path.lexists(f"/run/.outside/{name}")
                assert os.readlink(f"/run/{name}") == f".outside/{name}"

    def test_no_reservation_of_the_machine_is_seen_inside(self) -> None:
        """A real node's own attachments must not be found, nor removed, by a plugin under test."""
        with sandbox.enter():
            assert os.listdir("/run/netns") == []
            assert not os.path.exists("/var/lib/cni")

    def test_a_sandbox_is_entered_within_a_sandbox(self) -> None:
        """Workers of a process that entered enter once more, each for itself."""
        with sandbox.enter():
            outer = namespaces()
            Path("/run/netns/outer").touch()
            Path("/run/shared").write_text("seen", encoding="utf-8")
            with sandbox.enter():
                assert set(namespaces()).isdisjoint(outer)
                assert os.listdir("/run/netns") == []
                assert Path("/run/shared").read_text(encoding="utf-8") == "seen"
            assert namespaces() == outer
            assert os.listdir("/run/netns") == ["outer"]

    def test_threads_that_ran_before_are_not_inside(self) -> None:
        """Only the calling thread moves, and what it starts from then on."""
        places: dict[str, tuple[str, str]] = {}
        entered = threading.Event()

        def look(name: str) -> None:
            entered.wait(10)
            places[name] = namespaces()

        before = threading.Thread(target=look, args=("before",))
        before.start()
        with sandbox.enter():
            inside = namespaces()
            after = threading.Thread(target=look, args=("after",))
            after.start()
            entered.set()
            before.join()
            after.join()
        assert places == {"before": namespaces(), "after": inside}

    def test_a_thread_that_still_runs_inside_does_not_hold_up_leaving(self) -> None:
        """Timers and servers start threads whenever they like."""
        before, done = namespaces(), threading.Event()
        entered = sandbox.enter()
        other = threading.Thread(target=done.wait, args=(10,))
        other.start()
        try:
            entered.leave()
            assert namespaces() == before
        finally:
            done.set()
            other.join()

    def test_leaving_twice_is_fine(self) -> None:
        """A test may leave early inside a with block."""
        before = namespaces()
        with sandbox.enter() as entered:
            entered.leave()
            assert namespaces() == before
        assert namespaces() == before

    def test_another_thread_cannot_leave(self) -> None:
        """It would move itself, not the thread that is inside."""
        refusals: list[str] = []

        def leave() -> None:
            try:
                entered.leave()
            except SandboxError as error:
                refusals.append(str(error))

        with sandbox.enter() as entered:
            other = threading.Thread(target=leave)
            other.start()
            other.join()
        assert "by the thread that entered it" in refusals[0]

    def test_no_file_stays_open(self) -> None:
        """An open namespace would live on after the sandbox."""
        before = os.listdir("/proc/self/fd")
        for _ in range(3):
            with sandbox.enter():
                pass
            assert sandbox.why_not() == ""
        assert os.listdir("/proc/self/fd") == before

    def test_asking_enters_nothing(self) -> None:
        """why_not tries it, but elsewhere."""
        before = namespaces(), machine()
        assert sandbox.why_not() == ""
        assert (namespaces(), machine()) == before

    def test_a_failed_entry_goes_back_and_says_why(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Half a sandbox would be worse than none."""

        def refused(link: str) -> None:
            raise OSError(1, f"bringing {link} up was refused")

        before = namespaces(), machine(), os.listdir("/proc/self/fd")
        monkeypatch.setattr(changes, "bring_up", refused)
        with pytest.raises(SandboxError, match="no sandbox for uid 0: bringing lo up was refused"):
            sandbox.enter()
        assert "bringing lo up was refused" in sandbox.why_not()
        assert (namespaces(), machine(), os.listdir("/proc/self/fd")) == before

    def test_a_killed_process_leaves_nothing(self) -> None:
        """Nothing has to run for the clean-up: the kernel does it."""
        before = machine()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            sandbox.enter()
            Path("/run/netns/pod").touch()
            syscalls.mount("/proc/thread-self/ns/net", "/run/netns/pod", flags=0x1000)
            os.write(writer, namespaces()[0].encode())
            os.kill(os.getpid(), signal.SIGKILL)
        os.close(writer)
        with open(reader, encoding="utf-8") as answers:
            namespace = answers.read()
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        assert namespace.startswith("net:[")
        assert users_of(namespace) == []
        assert machine() == before


class TestWithoutRoot:
    def test_the_process_is_root_inside_and_stays(self, user: AsUser) -> None:
        """The way back out of a user namespace is closed by the kernel."""

        def story() -> None:
            before = namespaces()
            assert sandbox.why_not() == ""
            with sandbox.enter() as entered:
                inside = namespaces()
                assert os.geteuid() == os.getegid() == 0
                assert set(inside).isdisjoint(before)
                assert os.listdir("/run/netns") == []
            assert entered.stays
            assert namespaces() == inside

        user(story)

    def test_inside_it_may_be_entered_and_left_like_root(self, user: AsUser) -> None:
        """So that a runner without root enters once, and each of its workers for itself."""

        def story() -> None:
            sandbox.enter()
            outer = namespaces()
            with sandbox.enter() as entered:
                assert not entered.stays
                assert set(namespaces()).isdisjoint(outer)
            assert namespaces() == outer

        user(story)

    def test_more_than_one_thread_is_refused_with_the_reason(self, user: AsUser) -> None:
        """The kernel's own answer would be: invalid argument."""

        def story() -> None:
            done = threading.Event()
            other = threading.Thread(target=done.wait)
            other.start()
            try:
                assert "has 2 threads" in sandbox.why_not()
                with pytest.raises(SandboxError, match="enter before others start"):
                    sandbox.enter()
            finally:
                done.set()
                other.join()

        user(story)

    def test_a_switch_of_the_machine_that_forbids_it_is_named(self, user: AsUser) -> None:
        """Who meets the refusal has to know which setting to ask for."""

        def story() -> None:
            sandbox.enter()
            switch = "/proc/sys/user/max_net_namespaces"
            Path(switch).write_text("0", encoding="utf-8")
            reason = sandbox.why_not()
            assert f"{switch} is 0" in reason
            with pytest.raises(SandboxError, match="making a new mount and network namespace"):
                sandbox.enter()

        user(story)

    def test_a_machine_without_user_namespaces_is_told_before_anything_is_entered(
        self, user: AsUser
    ) -> None:
        """A process must not be left with half of it: it could not go back."""

        def story() -> None:
            before = namespaces()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(syscalls, "unshare", _refused)
                with pytest.raises(SandboxError, match="Operation not permitted"):
                    sandbox.enter()
            assert namespaces() == before

        user(story)


def _refused(kinds: int) -> None:
    raise PermissionError(1, f"making namespaces {kinds:#x}: Operation not permitted")
