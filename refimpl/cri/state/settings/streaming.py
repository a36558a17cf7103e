"""ExecSync, Exec, Attach and PortForward: in what runtimes differ."""

from __future__ import annotations

from typing import Literal

import attrs

from refimpl.cri.state.settings.divergence import diverges

__all__ = ["StreamingChoices"]


@attrs.frozen(kw_only=True)
class StreamingChoices:
    """exec_timeout: what ExecSync answers when the time is over. checked: when it is looked whether
    a container runs."""

    exec_timeout: Literal["deadline exceeded", "exit code -1"] = diverges(
        "D14",
        "deadline exceeded",
        crio="exit code -1",
        source="containerd 2.4.2, run; CRI-O with conmon: OK, and words on stderr",
    )
    checked: Literal["call", "stream"] = diverges(
        "D18", "call", crio="stream", source="containerd 2.4.2, run; CRI-O server/container_exec.go"
    )
