"""Breaches of the meta plugin."""

from __future__ import annotations

from refimpl.cni.plugins.breaches.shared import only_read_the_list
from refimpl.cni.plugins.breaches.wrapping import dies, skipped
from refimpl.cni.plugins.kinds import delegating

TYPE_CHECKING = False
if TYPE_CHECKING:
    from refimpl.cni.plugins.breaches.wrapping import Breaches

__all__ = ["BREACHES"]


BREACHES: Breaches = {
    "crash-after": {delegating.attached: dies(after="link")},
    "check-nothing": {delegating.check: skipped},
    "check-ignores-prev-result": {delegating.require_prev_result: skipped},
    "gc-not-forwarded": {delegating.gc: only_read_the_list},
    "status-always": {delegating.status: skipped},
    "status-not-forwarded": {delegating.status: skipped},
}
