"""What one kubelet knows, shared by allocation, admission and restart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.endpoints import Clock, Endpoints
from refimpl.deviceplugin.state.models import HEALTHY, Container, Device, Pod
from refimpl.deviceplugin.state.order import Order, in_order
from refimpl.deviceplugin.state.records import Records
from refimpl.deviceplugin.state.scopes import Scope
from refimpl.deviceplugin.state.settings import Settings

Note = Callable[[str], None]
"""Takes one sentence that kubelet would have put into its log."""


def unheard(sentence: str) -> None:
    """The Note of a state that nobody listens to."""


class Tables:
    """Devices, connections, records, pods. Read and change under `lock`."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock,
        scope: Scope,
        order: Order = in_order,
        note: Note = unheard,
    ) -> None:
        self.settings = settings
        self.order = order
        self.note = note
        self.scope = scope
        self.lock = threading.RLock()
        self.devices = Devices()
        self.endpoints = Endpoints(settings, clock, self.devices.lose)
        self.records = Records()
        self.in_use: dict[str, set[str]] = {}
        self.reusable: dict[str, set[str]] = {}
        """Devices of init containers that are done by then, of the pod `reusable_of` alone."""
        self.reusable_of = ""
        self.pods: dict[str, Pod] = {}
        """Pods that were admitted and are still active."""
        self.admitting = ""
        """The pod that is being judged; it counts as active."""
        self.sources_ready = True
        """False after a restart, until kubelet has heard of all its pods."""
        self.running: frozenset[tuple[str, str]] = frozenset()
        """(pod, container) that the runtime reported as running when kubelet started."""
        self.same_boot = False

    def ours(self, resource: str, container: Container | None = None) -> bool:
        """True for a resource that is registered or was ever allocated, unless DRA provides it."""
        gated = "DRAExtendedResource" in self.settings.gates
        if container and gated and resource in container.claimed:
            return False
        return resource in self.devices.healthy or resource in self.in_use

    def names(self) -> set[str]:
        """All resources that are ours."""
        return {*self.devices.healthy, *self.in_use}

    def free(self, resource: str) -> set[str]:
        """Healthy ids that nobody uses."""
        return self.devices.healthy.get(resource, set()) - self.in_use.get(resource, set())

    def take(self, resource: str, ids: Iterable[str]) -> None:
        """Mark ids as in use."""
        self.in_use.setdefault(resource, set()).update(ids)

    def rebuild(self) -> None:
        """Make what is in use what the records say."""
        self.in_use = self.records.in_use()

    def collect(self) -> None:
        """Free what pods hold that are active no more. Only where there is such a pod, marks
        without a record go as well; and nothing goes while pods may be still unheard of."""
        if not self.sources_ready:
            return
        gone = self.records.pods() - self.pods.keys() - {self.admitting}
        if gone:
            self.records.drop(gone)
            self.rebuild()

    def listed(self, resource: str, entries: Iterable[Device]) -> tuple[str, ...]:
        """Take a ListAndWatch message; the pods whose status shows a device that changed."""
        intake = self.devices.take(resource, entries)
        if "ResourceHealthStatus" not in self.settings.gates:
            return ()
        within = resource if self.settings.refresh_by == "resource" else None
        holders = self.records.holders(within)
        pods = (holders[name] for name in intake.changed if name in holders)
        return tuple(dict.fromkeys(pods))

    def health(self, pod: str, container: str) -> dict[str, dict[str, str]]:
        """Resource -> id -> Healthy or Unhealthy, as a container's status shows it (2.10). A device
        that left the list shows as Healthy."""
        return {
            record.resource: {
                name: HEALTHY if self.devices.device(record.resource, name).healthy else "Unhealthy"
                for name in sorted(record.ids)
            }
            for record in self.records.of_container(pod, container)
        }
