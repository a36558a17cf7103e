"""One call of a fake plugin from environment and stdin to status, stdout and stderr.

`main` is the plugin as a function; the executable that `install` makes runs the same code.
"""

from __future__ import annotations

from refimpl.cni.plugins import faults, journal
from refimpl.cni.plugins.answer import answered
from refimpl.cni.plugins.call import Call
from refimpl.cni.plugins.errors import Died, ProcessOnly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from refimpl.cni.plugins.call import ExecDelegate, Executed
    from refimpl.cni.plugins.stdio import Process

__all__ = ["KINDS", "main"]

KINDS = ("interface", "hostlocal", "chained", "delegating", "recorder")

NEEDS_PROCESS = ("hang", "slow-stdin", "close-stdin", "hold-stdout")


def main(
    kind: str,
    environ: Mapping[str, str],
    stdin: bytes | None,
    settings: dict[str, Any],
    *,
    exec_delegate: ExecDelegate | None = None,
    process: Process | None = None,
    knobs: dict[str, dict[str, Any]] | None = None,
) -> Executed:
    """Answers one call as the plugin of that kind: (exit status, stdout, stderr); a negative status
    stands for a signal. `stdin` is None where it could not be read.

    `settings` are those of `install`; counts of faults are kept in them. `exec_delegate(name,
    environ, stdin)` runs delegates instead of CNI_PATH. Raises ProcessOnly for a fault that takes
    a process (hang, slow-stdin, close-stdin, hold-stdout).
    """
    if kind not in KINDS:
        raise ValueError(f"there is no plugin of kind {kind!r}; take one of {', '.join(KINDS)}")
    chosen = faults.chosen(settings, environ) if knobs is None else knobs
    if process is None and (names := [knob for knob in NEEDS_PROCESS if knob in chosen]):
        raise ProcessOnly(f"{names[0]} takes a process of its own: install the plugin")
    record = journal.begin({**settings, "kind": kind}, environ, stdin or b"")
    call = Call(environ, stdin or b"", settings, exec_delegate, process)
    if chosen:
        from refimpl.cni.plugins.breaches.rooms import commit

        commit(call, kind, chosen)
    try:
        executed = answered(call, kind, stdin is None)
    except Died as died:
        executed = (died.status, b"", b"".join(call.log))
    journal.end(settings, record, executed, sorted(chosen))
    return executed
