"""A driver that dies in one RPC: `python dying_driver.py ENDPOINT RPC [STATE_DIR]`.

Without STATE_DIR it forgets everything when it dies. With RPC `-` it never dies; with `?RPC`
it never answers that one.
"""

from __future__ import annotations

import os
import sys
import threading

from refimpl.csi.fake import FakeDriver
from refimpl.wire.faults import Action, FaultRule, Faults, Hang, HeldCall


class Die(Action):
    """Ends the process as a program in Go does that follows a nil pointer."""

    name = "die"

    def before(self, _call: HeldCall, /) -> None:
        print("panic: runtime error: index out of range [5]", file=sys.stderr, flush=True)
        os._exit(2)


def main(endpoint: str, rpc: str, state_dir: str = "") -> None:
    """Serves until it dies."""
    fault: Action = Hang() if rpc.startswith("?") else Die()
    faults = Faults([FaultRule(do=fault, method=rpc.lstrip("?"))] if rpc != "-" else [])
    driver = FakeDriver(endpoint, faults=faults, state_dir=state_dir or None, storage="directory")
    with driver:
        threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
