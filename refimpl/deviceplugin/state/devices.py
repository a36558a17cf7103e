"""What plugins reported, resource by resource, and what becomes of it without them (2.2, 2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from refimpl.deviceplugin.state.models import Device

Ids = set[str]


@attrs.frozen
class Intake:
    """What a list changed: ids that are new or of another health, whose pods want a new status."""

    resource: str
    changed: tuple[str, ...]


class Devices:
    """The three maps of kubelet's device manager: resource -> devices, healthy ids, unhealthy ids.

    A resource is registered while `healthy` has its key, be the set empty or not.
    """

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Device]] = {}
        self.healthy: dict[str, Ids] = {}
        self.unhealthy: dict[str, Ids] = {}

    def take(self, resource: str, listed: Iterable[Device]) -> Intake:
        """A ListAndWatch message: it replaces all there was. Nothing in it is judged.

        Of two entries of one id the map keeps the last, but each counts for its health: Healthy and
        Unhealthy put the id into both sets, and capacity counts it twice.
        """
        before = self.known.get(resource, {})
        entries = tuple(listed)
        self.known[resource] = {device.id: device for device in entries}
        self.healthy[resource] = {device.id for device in entries if device.healthy}
        self.unhealthy[resource] = {device.id for device in entries if not device.healthy}
        changed = (device.id for device in entries if _changed(before, device))
        return Intake(resource, tuple(dict.fromkeys(changed)))

    def lose(self, resource: str) -> None:
        """The plugin is gone: every healthy id turns unhealthy; what was reported of it stays."""
        healthy = self.healthy.get(resource, set())
        if resource in self.healthy:
            self.healthy[resource] = set()
        self.unhealthy[resource] = self.unhealthy.get(resource, set()) | healthy

    def restore(self, resource: str) -> None:
        """A resource that the checkpoint names: registered, with nothing in it."""
        self.healthy[resource] = set()
        self.unhealthy[resource] = set()

    def remove(self, resource: str) -> None:
        """The resource is no longer registered; what is known of its devices stays known."""
        self.healthy.pop(resource, None)
        self.unhealthy.pop(resource, None)

    def device(self, resource: str, device_id: str) -> Device:
        """What is known of a device; one without topology if it has left the list meanwhile."""
        return self.known.get(resource, {}).get(device_id) or Device(device_id)

    def of(self, resource: str) -> Mapping[str, Device]:
        """All devices last listed for a resource, whatever their health."""
        return self.known.get(resource, {})

    def placed(self, resource: str) -> bool:
        """True if some device of the resource names a NUMA node: only then placement matters."""
        return any(device.nodes for device in self.of(resource).values())


def _changed(before: Mapping[str, Device], device: Device) -> bool:
    old = before.get(device.id)
    return old is None or old.health != device.health
