"""Where ledgers lie, and what a sweep does with those of killed runs."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.csi.opening import open_target
from conformance.engine.ledger import sweep
from conformance.engine.options import BadOption, Options
from conformance.engine.targets.resolve import resolve
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.fake import FakeDriver
from refimpl.wire.client import Unreachable
from refimpl.wire.faults import Faults
from refimpl.wire.status import Refused
from tests.conftest import STRANGER
from tests.targets import resolved


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[FakeDriver]:
    """A driver that is on no ledger yet."""
    with FakeDriver(tmp_path / "c.sock", storage="memory") as fake:
        yield fake


def options(driver: FakeDriver, run_id: str = "1") -> Options:
    """A run against the driver."""
    chosen = {"csi.testvolumesize": 1 << 20}  # or sizes are tried out, which makes volumes
    return Options(interface="csi", target=str(driver.endpoint), run_id=run_id, settings=chosen)


def killed(driver: FakeDriver, run_id: str = "1", name: str = "a") -> None:
    """A run that made a volume and was never heard of again; its answer may have got lost."""
    target = open_target(resolve(options(driver, run_id), "csi"))
    with contextlib.suppress(Refused):
        target.controller.CreateVolume(target.requests.volume(name), timeout=5)
    # What SIGKILL does: nothing is undone, and the file stays.
    (path,) = sweep.home().glob(f"*-{run_id}-*")
    kept = path.read_bytes()
    calls = target.cleanup.calls
    calls._open.clear()
    calls.ledger._open.clear()
    target.close()
    path.write_bytes(kept)


def fault(driver: FakeDriver, act: str) -> None:
    """What happens to every CreateVolume from now on."""
    rules = Faults.from_yaml(f"- {{when: {{method: CreateVolume}}, do: {{{act}}}}}").rules
    driver.faults.replace(rules)


def left(driver: FakeDriver) -> int:
    """Volumes on the driver."""
    target = open_target(resolve(options(driver, "look"), "csi"))
    try:
        return len(target.controller.ListVolumes(pb.ListVolumesRequest()).entries)
    finally:
        target.close()


def test_what_a_killed_run_made_is_removed_and_forgotten(driver: FakeDriver) -> None:
    """Of several runs, the oldest first; a second sweep has nothing to do."""
    killed(driver, "1", "a")
    killed(driver, "2", "b")
    lines, failed = sweep.sweep(options(driver, "sweep"))
    assert [line.partition(": ")[2] for line in lines] == ["CreateVolume undone"] * 2
    assert not failed
    assert left(driver) == 0
    assert "nothing to do" in sweep.sweep(options(driver, "sweep"))[0][0]


def test_a_dry_run_only_says(driver: FakeDriver) -> None:
    """Look before you leap."""
    killed(driver)
    lines, failed = sweep.sweep(options(driver, "sweep"), dry_run=True)
    assert "would undo CreateVolume" in lines[0]
    assert not failed
    assert left(driver) == 1
    assert len(sweep.ledgers("csi", str(driver.endpoint))) == 1


def test_a_create_whose_answer_was_lost_is_learned_by_repeating_it(driver: FakeDriver) -> None:
    """CSI creates are idempotent by name."""
    fault(driver, "drop_reply: {}")
    killed(driver)
    assert left(driver) == 1
    driver.faults.clear()
    (ledger,) = sweep.ledgers("csi", str(driver.endpoint))
    lines, failed = sweep.sweep(options(driver, "sweep"))
    assert (lines, failed) == ([f"{ledger.name}: CreateVolume undone"], False)
    assert left(driver) == 0


def test_a_driver_that_does_not_answer_keeps_its_ledger(driver: FakeDriver) -> None:
    """Nobody answering is not the same as nothing made."""
    fault(driver, "drop_reply: {}")
    killed(driver)
    fault(driver, "status: UNAVAILABLE")
    lines, failed = sweep.sweep(options(driver, "sweep"))
    assert "could not be undone: UNAVAILABLE" in lines[0]
    assert failed
    driver.faults.clear()
    assert sweep.sweep(options(driver, "sweep"))[1] is False
    assert left(driver) == 0


def test_a_target_is_known_by_the_name_the_run_was_given(driver: FakeDriver) -> None:
    """Ledgers of another driver are not touched."""
    killed(driver)
    assert sweep.ledgers("csi", "unix:///elsewhere.sock") == []
    assert "nothing to do" in sweep.sweep(Options(interface="csi", target="unix:///x"))[0][0]


def test_a_driver_out_of_reach_is_said(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger stays for when it is back."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.01")
    killed(driver)
    target = str(driver.endpoint)
    driver.stop()
    with pytest.raises(Unreachable):
        sweep.sweep(Options(interface="csi", target=target, run_id="sweep"))
    assert len(sweep.ledgers("csi", target)) == 1


def test_a_run_that_reaches_nobody_leaves_no_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one that makes nothing: they would pile up."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.01")
    with pytest.raises(Unreachable):
        open_target(resolved("csi", f"unix://{tmp_path}/none.sock"))
    assert list(sweep.home().iterdir()) == []


def test_an_unknown_interface_is_a_usage_error() -> None:
    """Exit code 4."""
    with pytest.raises(BadOption, match="csy"):
        sweep.sweep(Options(interface="csy", target="x"))


def test_ledgers_are_for_their_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They name what lies on a driver."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    home = sweep.home()
    assert home == tmp_path / "state" / "refimpl" / "ledgers"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_home_that_cannot_be_written_is_told_and_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Containers run without a home; the run goes on."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spare = sweep.home()
    assert spare.parent == tmp_path
    assert spare.name.startswith(f"refimpl-{os.getuid()}-ledgers-")
    assert sweep.home() == spare
    assert stat.S_IMODE(spare.stat().st_mode) == 0o700
    lines = capsys.readouterr().err
    assert "Not a directory" in lines
    assert str(spare) in lines
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert sweep.home() == tmp_path / "me" / ".local" / "state" / "refimpl" / "ledgers"


def forged(path: Path, victim: Path) -> None:
    """A ledger by which the victim was made by a run against x."""
    lines = ({"target": "unix:///x"}, {"n": 0, "kind": "folder", "name": str(victim)})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_folder_of_another_user_is_no_home(
    public: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who writes a ledger has a sweep remove what it names: neither the state of another user
    counts (as under sudo -E) nor a folder that somebody has put where ours would be."""
    theirs = public / "state" / "refimpl" / "ledgers"
    planted = public / "refimpl-0-ledgers"
    theirs.mkdir(parents=True)
    planted.mkdir()
    for folder in (theirs, planted):
        os.chown(folder, STRANGER, STRANGER)
    monkeypatch.setenv("XDG_STATE_HOME", str(public / "state"))
    monkeypatch.setattr(tempfile, "tempdir", str(public))
    spare = sweep.home()
    assert spare.parent == public
    assert spare.stat().st_uid == os.geteuid()
    assert spare not in (theirs, planted)
    assert "it belongs to user 65534" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["stranger's", "fifo", "link", "world-writable"])
def test_a_ledger_that_another_user_may_have_written_is_left_alone(
    kind: str, public: Path, tmp_path: Path, driver: FakeDriver
) -> None:
    """And it holds nobody up."""
    victim = public / "victim"
    victim.mkdir()
    path = sweep.ledger_path("csi", str(driver.endpoint), "9")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        forged(tmp_path / "forged", victim)
        path.symlink_to(tmp_path / "forged")
    else:
        forged(path, victim)
        path.chmod(0o666)
    if kind == "stranger's":
        path.chmod(0o600)
        os.chown(path, STRANGER, STRANGER)
    lines, failed = sweep.sweep(options(driver, "sweep"))
    assert "left alone" in lines[0]
    assert failed
    assert victim.exists()


def test_a_ledger_with_a_line_that_is_no_record_stays(driver: FakeDriver) -> None:
    """It names what to do; nothing after that line was forgotten as if it were undone."""
    killed(driver)
    (path,) = sweep.ledgers("csi", str(driver.endpoint))
    first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, b"rubbish\n", *rest]))
    lines, failed = sweep.sweep(options(driver, "sweep"))
    assert f"line 2 of {path} cannot be read" in lines[0]
    assert failed
    path.write_bytes(b"".join([first, *rest]))
    assert sweep.sweep(options(driver, "sweep"))[1] is False
    assert left(driver) == 0
