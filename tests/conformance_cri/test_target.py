"""A runtime that somebody else started, as the suite sees it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cri.target import CriTarget
from conformance.engine.options import Options
from conformance.engine.targets.resolve import resolve
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.fake import FakeRuntime


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CriTarget]:
    """Our fake behind a socket."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with FakeRuntime(tmp_path / "cri.sock") as fake:
        chosen = resolve(Options(interface="cri", target=str(fake.endpoint)), "cri")
        opened = CriTarget(str(fake.endpoint), chosen)
        yield opened
        opened.close()


def test_the_line_of_a_last_call_names_nothing_that_its_case_has_made(target: CriTarget) -> None:
    """What a case has made goes with it, so that a call about it cannot be repeated."""
    runtime = target.kubelet.runtime
    mark = target.mark()
    pod = target.pods.run()
    runtime.PodSandboxStatus(pb.PodSandboxStatusRequest(pod_sandbox_id=pod.id))
    assert target.reproduce(target.calls(mark)) == ""
    runtime.StopPodSandbox(pb.StopPodSandboxRequest(pod_sandbox_id="never-was"))
    line = f"crictl -r {target.endpoint} stopp never-was"
    assert target.reproduce(target.calls(mark)) == line
