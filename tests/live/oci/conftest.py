"""Our runtime that runs real OCI runtimes, as root: programs, plugins and busybox of the peers."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.engine.targets.supervise import Supervised
from tests.live.peers import Containerd

SERVE = (sys.executable, "-m", "refimpl", "serve", "cri", "{endpoint}", "--model", "oci")


@pytest.fixture
def serve(
    started: Callable[..., Supervised],
    containerd: Containerd,
    cni_plugins: Path,
    busybox: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Supervised]:
    """Starts a runtime, with further options."""
    runc = containerd.program("runc")
    folders = [str(runc.parent), str(busybox.parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    monkeypatch.setenv("CNI_PATH", str(cni_plugins))
    assert shutil.which("iptables"), "host ports take iptables"
    return lambda *more: started(*SERVE, *more)
