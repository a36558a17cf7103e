"""Containers one at a time, GC alone: for threads and for processes."""

import subprocess
import sys
import threading
from pathlib import Path

from refimpl.cni.runtime.locks import Locks

HOLDER = """
import sys
from pathlib import Path
from refimpl.cni.runtime.locks import Locks
with Locks(Path(sys.argv[1])).container("c1"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_waited_for(tmp_path: Path) -> None:
    """A second runtime on the machine; another container is not held up."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        order: list[str] = []

        def work(locks: Locks, name: str) -> None:
            with locks.container(name):
                order.append(name)

        waiting = threading.Thread(target=work, args=(Locks(tmp_path), "c1"))
        waiting.start()
        work(Locks(tmp_path), "c2")
        assert order == ["c2"]
        holder.stdin.close()
        waiting.join()
    assert order == ["c2", "c1"]


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    """RT-028: the runtime that comes after it can go on."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.kill()
    with Locks(tmp_path).everything():
        assert (tmp_path / "refimpl.lock").exists()


def test_where_none_are_wanted_nothing_is_made(tmp_path: Path) -> None:
    """libcni locks nothing."""
    with Locks(tmp_path, wanted=False).everything(), Locks(tmp_path, wanted=False).container("c"):
        assert list(tmp_path.iterdir()) == []
