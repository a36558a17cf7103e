"""`refimpl sweep`; tests/engine/test_sweep.py has what it undoes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.ledger import sweep
from conformance.engine.options import Options
from tests.live.rigs.namespaces import until

Command = Callable[..., Any]  # see conftest.py


def test_nothing_to_do_is_said(refimpl: Command) -> None:
    """And is a success."""
    result = refimpl("sweep", "csi", "unix:///run/x.sock")
    assert result.returncode == 0
    assert "no killed run against unix:///run/x.sock is on record" in result.stdout


@pytest.mark.parametrize(("failed", "code"), [(False, 0), (True, 1)])
def test_what_could_not_be_undone_is_a_failure(
    refimpl: Command, monkeypatch: pytest.MonkeyPatch, failed: bool, code: int
) -> None:
    """Each line of the engine is printed; options reach it as for `test`."""
    sweeps: list[tuple[Options, bool]] = []

    def stand_in(options: Options, *, dry_run: bool) -> tuple[list[str], bool]:
        sweeps.append((options, dry_run))
        return ["a: CreateVolume undone", "b: what else"], failed

    monkeypatch.setattr(sweep, "sweep", stand_in)
    words = ("--dry-run", "--csi.secrets", "s.yaml")
    result = refimpl("sweep", "csi", "x", *words)
    assert result.returncode == code
    assert result.stdout == "a: CreateVolume undone\nb: what else\n"
    ((options, dry_run),) = sweeps
    assert dry_run
    assert (options.target, options.settings) == ("x", {"csi.secrets": "s.yaml"})


def test_the_options_of_the_other_interfaces_are_those_of_test(
    refimpl: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line of a run becomes that of its sweep by one word."""
    sweeps: list[Options] = []

    def stand_in(options: Options, *, dry_run: bool) -> tuple[list[str], bool]:
        sweeps.append(options)
        return [f"dry run: {dry_run}"], False

    monkeypatch.setattr(sweep, "sweep", stand_in)
    folders = ("--cni-conf-dir", "/etc/cni/net.d", "--cni-bin-dir", "/opt/cni/bin")
    assert refimpl("sweep", "cni", "x", *folders).returncode == 0
    words = ("--cdi-dir", "/etc/cdi", "--cdi-dir", "/run/cdi")
    assert refimpl("sweep", "cdi", "x", *words).returncode == 0
    assert [options.settings for options in sweeps] == [
        {"cni-conf-dir": "/etc/cni/net.d", "cni-bin-dir": "/opt/cni/bin"},
        {"cdi-dir": ("/etc/cdi", "/run/cdi")},
    ]


@pytest.mark.parametrize("iface", ["cni", "cdi"])
def test_targets_that_keep_nothing_have_nothing_to_sweep(refimpl: Command, iface: str) -> None:
    """A plugin, a library: what a run makes of theirs is in namespaces and folders of its own."""
    result = refimpl("sweep", iface, "exec:/opt/none")
    assert result.returncode == 0
    assert "nothing to do" in result.stdout


def test_a_target_out_of_reach_ends_with_6(
    refimpl: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger is kept for the next time."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.01")
    target = f"unix://{tmp_path}/none.sock"
    ledger = sweep.ledger_path("csi", target, "1")
    ledger.write_text("")
    result = refimpl("sweep", "csi", target)
    assert (result.returncode, result.stdout) == (6, "")
    assert "there is no such file" in result.message
    assert ledger.exists()


def test_an_unknown_interface_is_a_usage_error(refimpl: Command) -> None:
    """It names those there are."""
    result = refimpl("sweep", "csy", "x")
    assert result.returncode == 4
    assert "'csy': there is csi" in result.message


def test_a_plugin_that_hangs_ends_with_the_sweep_of_a_killed_run(
    refimpl: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing in its environment is ours, so no mark tells whose it is."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    told, plugin = tmp_path / "pid", tmp_path / "loopback"
    plugin.write_text(f"#!/bin/sh\necho $$ > {told}.new\nmv {told}.new {told}\nexec sleep 1000\n")
    plugin.chmod(0o755)
    words = [sys.executable, "-m", "refimpl", "test", "cni", f"exec:{plugin}"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as run:
        try:
            until(lambda: told.exists() or run.poll() is not None, "the plugin to be asked")
        finally:
            run.kill()
        complaint = run.stderr
        assert told.exists(), complaint and complaint.read()
    pid = int(told.read_text())
    os.kill(pid, 0)
    result = refimpl("sweep")
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"process {pid}" in result.stdout
    until(lambda: not Path(f"/proc/{pid}").exists(), "the plugin to be gone")
