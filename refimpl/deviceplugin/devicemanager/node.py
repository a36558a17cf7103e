"""What outlives a kubelet process: the node, the pods, and the record."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from attrs import define, field

from refimpl.deviceplugin.devicemanager.podresources import Others
from refimpl.deviceplugin.devicemanager.workload import Workload
from refimpl.deviceplugin.state.capacity import NodeStatus
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Journal

__all__ = ["NodeRecord"]


@define(eq=False)
class NodeRecord:
    """Node and pods as the API server and the runtime have them, and what is recorded of kubelet.

    `notes`: what kubelet would log. `refreshed`: uids of pods whose status a list changed, one
    entry a list and pod. `counts`: metrics.
    """

    journal: Journal
    faults: Faults
    status: NodeStatus = field(factory=NodeStatus)
    workload: Workload = field(factory=Workload)
    others: Others = field(factory=Others)
    notes: list[str] = field(factory=list)
    refreshed: list[str] = field(factory=list)
    counts: Counter[str] = field(factory=Counter)
    changed: threading.Condition = field(factory=threading.Condition)
    boots: int = 1
    events: int = 0

    @property
    def boot_id(self) -> str:
        """Another one after each `reboot`."""
        return f"boot-{self.boots}"

    def reboot(self) -> None:
        """No container runs any more."""
        self.boots += 1
        for run in self.workload:
            run.running.clear()

    def note(self, sentence: str) -> None:
        """Takes a sentence for the log."""
        with self.changed:
            self.notes.append(sentence)
            del self.notes[:-1000]
            self.touch()

    def touch(self) -> None:
        """Has those who wait look again."""
        with self.changed:
            self.events += 1
            self.changed.notify_all()

    def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Waits until the condition holds, looked at after each event; False if not in time."""
        deadline = time.monotonic() + timeout_s
        while True:
            seen = self.events
            if condition():
                return True
            if not self.wait(seen, deadline - time.monotonic()):
                return condition()

    def wait(self, seen: int, timeout_s: float) -> bool:
        """Waits for an event after number `seen`; False if none comes in time."""
        # What is waited for is looked at outside, because it may want locks of its own.
        with self.changed:
            return self.changed.wait_for(lambda: self.events != seen, max(timeout_s, 0.0))
