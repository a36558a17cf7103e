"""What TARGET opens, and what a finding says of it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conformance.cdi import needs
from conformance.cdi.documents import document
from conformance.cdi.host import CdiHost
from conformance.cdi.inprocess import InProcess
from conformance.engine.options import BadOption
from conformance.engine.scope import CaseScope
from refimpl.wire.client import Unreachable
from tests.conformance_cdi.conftest import Opener
from tests.targets import resolved


def test_the_fake_can_everything_under_either_policy(opened: Opener) -> None:
    """No case is skipped there but for the policy."""
    for policy in ("strict", "practice"):
        target = opened(policy=policy)
        assert isinstance(target.implementation, InProcess)
        assert target.implementation.policy == policy
        assert needs.NODES.unmet(target) is None
        assert needs.RUNTIME.unmet(target) is None
        assert (needs.STRICT.unmet(target) is None) == (policy == "strict")


def test_a_target_is_named_by_its_kind() -> None:
    """A bare path is a socket; what is no kind is said, with those there are."""
    for text, kind in {
        "exec:/x/cdi": ("exec", "/x/cdi"),
        "/run/x.sock": ("unix", "/run/x.sock"),
        "mutant:X": ("mutant", "X"),
    }.items():
        under_test = resolved("cdi", text)
        assert (under_test.scheme, under_test.address) == kind
    with pytest.raises(BadOption, match="an adapter of a library"):
        resolved("cdi", "tcp://x")


def test_a_missing_need_says_what_is_missing(opened: Opener) -> None:
    """It is the reason that a report shows."""
    target = opened()
    target.implementation.features = frozenset()
    assert needs.LOAD.unmet(target) == "fake does not tell what it has loaded"
    target.directories = ("/etc/cdi",)
    assert needs.TWO_DIRECTORIES.unmet(target) == "/etc/cdi is the only --cdi-dir of fake"


def test_what_cannot_be_reached_is_said(
    tmp_path: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first case."""
    monkeypatch.setattr("conformance.cdi.runtime._READY_S", 0.05)
    with pytest.raises(Unreachable, match="no program"):
        opened(f"exec:{tmp_path}/cdi")
    with pytest.raises(BadOption, match="--cdi-dir"):
        opened(f"unix://{tmp_path}/cri.sock")
    with pytest.raises(Unreachable):
        opened(f"unix://{tmp_path}/cri.sock", cdi_dir=[str(tmp_path)])


def test_a_finding_can_be_repeated_in_a_shell(
    opened: Opener, scope: CaseScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of the case, its cache, the act: nothing of ours but the adapter."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # the line makes the files again
    target = opened()
    host = CdiHost(target, scope)
    mark = target.mark()
    host.write("a.json", document(edits={"env": ["A"]}))
    host.load()
    line = target.reproduce(target.calls(mark))
    scope.close()
    line = line.replace("| python ", f"| {sys.executable} ")
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert "no environment variable" in done.stdout
    assert [call.rpc for call in target.calls(mark)] == ["file", "open", "load"]
