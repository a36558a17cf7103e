"""The journal under many writers."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from refimpl.cni.plugins import journal, records


def test_lines_of_many_processes_do_not_mix(rig) -> None:
    """Each call has its two lines whole, large ones too."""

    def one(n: int) -> int:
        return rig.run(
            "rec", "ADD", b'{"pad":"' + b"x" * 100_000 + b'"}', CNI_CONTAINERID=f"c{n}"
        ).status

    with ThreadPoolExecutor(12) as pool:
        assert set(pool.map(one, range(36))) == {0}
    calls = rig.calls("rec")
    assert {call["env"]["CNI_CONTAINERID"] for call in calls} == {f"c{n}" for n in range(36)}
    assert all(len(call["stdin"]) == 100_010 and call["status"] == 0 for call in calls)
    assert [call["start_ns"] for call in calls] == sorted(call["start_ns"] for call in calls)


def test_without_a_path_nothing_is_written(tmp_path) -> None:
    """A plugin without a journal has no id to end either."""
    call = journal.begin({}, {}, b"")
    journal.end({}, call, (0, b"", b""), [])
    assert call == ""
    assert list(tmp_path.iterdir()) == [] or not (tmp_path / "journal").exists()
    assert records(tmp_path / "none") == []


def test_bytes_that_are_no_text_are_kept(tmp_path) -> None:
    """In streams and in the environment."""
    path = str(tmp_path / "j")
    settings = {"journal": path, "name": "p", "kind": "recorder"}
    call = journal.begin(settings, {"CNI_COMMAND": "ADD", "X": "\udcff"}, b"\xff\0")
    journal.end(settings, call, (3, b"\xfe", b"\xfd"), ["exit"])
    (record,) = records(path)
    assert (record["stdin"], record["stdout"], record["stderr"]) == (b"\xff\0", b"\xfe", b"\xfd")
    assert (record["env"]["X"], record["status"], record["faults"]) == ("\udcff", 3, ["exit"])


@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_journal_that_somebody_planted_is_not_written_to(kind: str, tmp_path: Path) -> None:
    """A link would lead into another file; a pipe would have the plugin wait for its reader."""
    path, precious = tmp_path / "calls", tmp_path / "precious"
    precious.write_text("precious")
    if kind == "link":
        path.symlink_to(precious)
    else:
        os.mkfifo(path)
    with pytest.raises(OSError, match=r"symbolic links|No such device"):
        journal.append(str(path), {"call": "1"})
    assert precious.read_text() == "precious"
