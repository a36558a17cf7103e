"""The journal remembers every call, bounded in memory, and never stands in a call's way."""

import json
import os
import stat
import sys
import threading
from pathlib import Path
from subprocess import run

import pytest

from refimpl.csi.api import csi_pb2
from refimpl.wire import journal as journal_module
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.status import Code
from tests.conftest import STRANGER
from tests.wire.test_proxy import until

CREATE = "/csi.v1.Controller/CreateVolume"
PROBE = "/csi.v1.Identity/Probe"


def entry(method: str = PROBE, *, request: bytes = b"") -> Entry:
    return Entry(method=method, requests=(request,))


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_calls_since_a_number_are_found() -> None:
    """A case looks back to where it began, however long the run is."""
    journal = Journal()
    assert (journal.seq, journal.since(0)) == (0, [])
    for _ in range(3):
        journal.add(Entry(method="/s/M"))
    assert journal.seq == 3
    assert [entry.seq for entry in journal.since(1)] == [2, 3]
    assert journal.since(3) == []


def test_an_entry_shows_its_messages_decoded() -> None:
    """Assertions read fields; the bytes of the wire are kept so that later changes cannot show."""
    request = csi_pb2.CreateVolumeRequest(name="a")
    call = Entry(
        method=CREATE,
        request_type=csi_pb2.CreateVolumeRequest,
        reply_type=csi_pb2.CreateVolumeResponse,
        requests=(request.SerializeToString(),),
        replies=(csi_pb2.CreateVolumeResponse(),),
    )
    request.name = "changed later"
    assert call.rpc == "CreateVolume"
    assert call.requests == (csi_pb2.CreateVolumeRequest(name="a"),)
    assert call.replies == (csi_pb2.CreateVolumeResponse(),)


def test_messages_of_unknown_type_stay_bytes() -> None:
    """A proxy records what it does not understand."""
    assert Entry(method="/x.Y/Z", requests=(b"\x08\x01",)).requests == (b"\x08\x01",)


def test_what_cannot_be_decoded_stays_bytes() -> None:
    """The call was refused for it, and the record must show why."""
    call = Entry(method=PROBE, request_type=csi_pb2.ProbeRequest, requests=(b"\xff",))
    assert call.requests == (b"\xff",)
    assert call.to_dict()["requests"] == [{"bytes": "/w=="}]


def test_undecodable_bytes_are_hidden_where_they_may_hold_a_secret() -> None:
    """A truncated request still carries the password in clear."""
    data = csi_pb2.CreateVolumeRequest(secrets={"key": "hunter2"}).SerializeToString()[:-1]
    call = Entry(method=CREATE, request_type=csi_pb2.CreateVolumeRequest, requests=(data,))
    assert call.to_dict()["requests"] == [{"bytes": "***"}]
    assert call.to_dict(reveal=True)["requests"] != [{"bytes": "***"}]


def test_a_line_has_everything_that_a_report_needs() -> None:
    """Other programs read these names."""
    call = Entry(
        method=CREATE,
        peer="unix:",
        time=1.5,
        duration_s=0.25,
        deadline_s=2.0,
        code=Code.ABORTED,
        message="busy",
        fault="r1",
        request_type=csi_pb2.CreateVolumeRequest,
        requests=(csi_pb2.CreateVolumeRequest(name="a", secrets={"k": "v"}),),
    )
    assert call.to_dict() == {
        "seq": 0,
        "time": 1.5,
        "side": "server",
        "method": CREATE,
        "peer": "unix:",
        "deadline_s": 2.0,
        "requests": [{"name": "a", "secrets": {"k": "***"}}],
        "replies": [],
        "code": "ABORTED",
        "message": "busy",
        "fault": "r1",
        "duration_s": 0.25,
    }
    assert call.to_dict(reveal=True)["requests"] == [{"name": "a", "secrets": {"k": "v"}}]


def test_calls_are_numbered_in_order_from_every_thread() -> None:
    """The number is what reports and marks refer to."""
    journal = Journal()
    threads = [
        threading.Thread(target=lambda: [journal.add(entry()) for _ in range(100)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [call.seq for call in journal.entries] == list(range(1, 401))


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*", [CREATE, PROBE]),
        ("Create*", [CREATE]),
        ("CreateVolume", [CREATE]),
        ("/csi.v1.Identity/*", [PROBE]),
        ("create*", []),
    ],
)
def test_calls_are_found_by_rpc_or_by_whole_method(glob: str, found: list[str]) -> None:
    """Both spellings are in use: one in tests, one in fault rules."""
    journal = Journal()
    journal.add(entry(CREATE))
    journal.add(entry(PROBE))
    assert [call.method for call in journal.calls(glob)] == found


def test_clearing_forgets_calls_but_not_the_count() -> None:
    """A mark taken before must not match calls made after."""
    journal = Journal()
    journal.add(entry())
    journal.clear()
    journal.add(entry())
    assert [call.seq for call in journal.entries] == [2]


def test_memory_holds_the_newest_calls_only() -> None:
    """A soak test runs for days."""
    journal = Journal(keep=3)
    for _ in range(5):
        journal.add(entry())
    assert [call.seq for call in journal.entries] == [3, 4, 5]


def test_memory_is_bounded_by_the_size_of_messages_too() -> None:
    """Requests may have 16 MiB each."""
    journal = Journal(keep_bytes=100)
    for size in (60, 30, 50):
        journal.add(entry(request=b"x" * size))
    assert [call.size for call in journal.entries] == [30, 50]
    journal.add(entry(request=b"x" * 101))
    assert journal.entries == []


def test_the_file_has_a_line_for_each_call_once_flushed(tmp_path: Path) -> None:
    """Whoever reads it while the server runs asks for a flush."""
    path = tmp_path / "calls.jsonl"
    with Journal(path) as journal:
        journal.add(entry(CREATE))
        journal.flush()
        assert [line["method"] for line in lines(path)] == [CREATE]
        for _ in range(1000):
            journal.add(entry())
    assert [line["seq"] for line in lines(path)] == list(range(1, 1002))


def test_the_file_comes_up_to_date_by_itself(tmp_path: Path) -> None:
    """`tail -f` follows a running server."""
    path = tmp_path / "calls.jsonl"
    with Journal(path) as journal:
        journal.add(entry(CREATE))
        until(lambda: path.stat().st_size > 0)
        assert [line["method"] for line in lines(path)] == [CREATE]


@pytest.mark.parametrize("kind", ["link", "fifo", "stranger's"])
def test_a_file_that_somebody_planted_is_not_written_to(
    kind: str, public: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It would get what users sent, or have the server wait for a reader."""
    path, precious = public / "calls.jsonl", public / "precious"
    precious.write_text("precious")
    if kind == "link":
        path.symlink_to(precious)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.touch()
        os.chown(path, STRANGER, STRANGER)
    with Journal(path) as journal:
        journal.add(entry())
    assert "no more calls are written to it" in capfd.readouterr().err
    assert precious.read_text() == "precious"
    assert path.lstat().st_size == (len(str(precious)) if kind == "link" else 0)


def test_the_file_is_appended_to_and_private(tmp_path: Path) -> None:
    """A restarted driver goes on in the same record, which holds what users sent."""
    path = tmp_path / "calls.jsonl"
    for _ in range(2):
        with Journal(path) as journal:
            journal.add(entry())
    assert [line["seq"] for line in lines(path)] == [1, 1]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_has_more_than_memory_keeps(tmp_path: Path) -> None:
    """The bound is on memory, not on the record."""
    path = tmp_path / "calls.jsonl"
    with Journal(path, keep=2) as journal:
        for _ in range(5):
            journal.add(entry())
            journal.flush()
    assert len(lines(path)) == 5
    assert len(journal.entries) == 2


def test_closing_twice_is_harmless_and_memory_stays(tmp_path: Path) -> None:
    """Fakes close their journal, and so may the test that gave it."""
    journal = Journal(tmp_path / "calls.jsonl")
    journal.add(entry())
    journal.close()
    journal.close()
    journal.add(entry())
    assert len(journal.entries) == 2
    assert len(lines(tmp_path / "calls.jsonl")) == 1


def test_a_closed_journal_can_go_on(tmp_path: Path) -> None:
    """A fake that is started again continues its record."""
    journal = Journal(tmp_path / "calls.jsonl")
    journal.add(entry())
    journal.close()
    journal.open()
    journal.open()
    journal.add(entry())
    journal.close()
    assert [line["seq"] for line in lines(tmp_path / "calls.jsonl")] == [1, 2]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported_once_and_stops_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """A test run must not fail, nor go silent, for want of space for its log."""
    with Journal(Path("/dev/full")) as journal:
        for _ in range(3):
            journal.add(entry())
            journal.flush()
    assert [call.seq for call in journal.entries] == [1, 2, 3]
    err = capfd.readouterr().err
    assert err.count("\n") == 1
    assert "/dev/full: No space left on device: no more calls are written to it" in err


def test_a_file_that_cannot_be_opened_is_reported_and_stops_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The server still serves, and the record in memory is complete."""
    with Journal(tmp_path / "nowhere" / "calls.jsonl") as journal:
        journal.add(entry())
        journal.flush()
        assert len(journal.entries) == 1
    assert "No such file or directory" in capfd.readouterr().err


def test_a_file_that_hangs_costs_bounded_memory_and_is_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network disk may block for minutes."""
    go, writing = threading.Event(), threading.Event()
    write_all = journal_module._write_all

    def hang(fd: int, data: bytes) -> None:
        writing.set()
        assert go.wait(10)
        write_all(fd, data)

    monkeypatch.setattr(journal_module, "_write_all", hang)
    path = tmp_path / "calls.jsonl"
    with Journal(path, keep=2) as journal:
        journal.add(entry())
        assert writing.wait(10)
        for _ in range(5):
            journal.add(entry())
        go.set()
    assert [line["seq"] for line in lines(path)] == [1, 2, 3]
    assert "3 calls are missing in it" in capfd.readouterr().err


def test_a_call_that_cannot_be_written_leaves_a_line_that_says_so(tmp_path: Path) -> None:
    """And those after it are written."""
    with Journal(tmp_path / "calls.jsonl") as journal:
        journal.add(entry("/a.B/\udcff"))
        journal.add(entry(PROBE))
    first, second = lines(tmp_path / "calls.jsonl")
    assert first["seq"] == 1
    assert "surrogates not allowed" in str(first["unwritable"])
    assert second["method"] == PROBE


def test_a_process_that_forgets_to_close_loses_nothing(tmp_path: Path) -> None:
    """Scripts end without ceremony."""
    path = tmp_path / "calls.jsonl"
    script = (
        "import sys, pathlib\n"
        "from refimpl.wire.journal import Entry, Journal\n"
        "Journal(pathlib.Path(sys.argv[1])).add(Entry(method='/a.B/C'))\n"
    )
    run([sys.executable, "-c", script, str(path)], check=True, timeout=60)
    assert [line["method"] for line in lines(path)] == ["/a.B/C"]
