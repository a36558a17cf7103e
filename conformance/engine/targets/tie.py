"""Ties what we start to us: it dies when we do, however that is."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable

from conformance.engine.ledger.processes import MARK

__all__ = ["tie"]

_PDEATHSIG = 1  # PR_SET_PDEATHSIG, linux/prctl.h
_libc = ctypes.CDLL(None, use_errno=True)


def tie() -> Callable[[], object] | None:
    """A `preexec_fn` with which the kernel kills a process at our death. None in a thread that is
    not the main one, as the kernel looks at the thread that starts it: a sweep ends those. None
    outside of a run of ours as well: gRPC complains of each fork unless it is told not to."""
    ours = MARK in os.environ
    if not ours or threading.current_thread() is not threading.main_thread():
        return None
    starter = os.getpid()

    def tied() -> None:
        _libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != starter:  # it died before the kernel was told
            os._exit(1)

    return tied
