"""ExecSync, Exec, Attach and PortForward: in what runtimes differ."""

from __future__ import annotations

from typing import Literal

import attrs

from refimpl.cri.state.settings.divergence import diverges

__all__ = ["StreamingChoices"]


@attrs.frozen(kw_only=True)
class StreamingChoices:
    """exec_timeout: what ExecSync answers when the time is over. checked: when it is looked whether
    a container runs. spoken: `stock` is without v5 and without the tunnel for ports. terminal:
    whether an Attach is refused whose tty is not the container's. other_path: whether a URL can
    still be used that was asked for under another path. largest_reply: bytes of an ExecSync that
    the server sends at most, 0 for no limit. empty_id: the code for an Exec without an id."""

    exec_timeout: Literal["deadline exceeded", "exit code -1"] = diverges(
        "D14",
        "deadline exceeded",
        crio="exit code -1",
        source="containerd 2.4.2, run; CRI-O with conmon: OK, and words on stderr",
    )
    checked: Literal["call", "stream"] = diverges(
        "D18", "call", crio="stream", source="containerd 2.4.2, run; CRI-O server/container_exec.go"
    )
    spoken: Literal["all", "stock"] = diverges(
        "5.3",
        "all",
        containerd="stock",
        crio="stock",
        source="k8s.io/cri-streaming, which both serve with",
    )
    terminal: Literal["checked", "ignored"] = diverges(
        "D87",
        "checked",
        containerd="ignored",
        source="CRI v1 AttachRequest.tty: it must match; containerd 2.4.2, run: attached anyway",
    )
    other_path: Literal["kept", "used"] = diverges(
        "D85", "kept", containerd="used", crio="used", source="containerd 2.4.2, run"
    )
    largest_reply: int = diverges(
        "D83", 0, containerd=16 << 20, source="containerd 2.4.2, run: its own limit of a message"
    )
    empty_id: Literal["INVALID_ARGUMENT", "UNKNOWN"] = diverges(
        "D2", "INVALID_ARGUMENT", containerd="UNKNOWN", source="containerd 2.4.2, run"
    )
