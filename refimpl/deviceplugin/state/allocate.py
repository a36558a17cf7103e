"""Giving devices to the containers of a pod, one Allocate for each container and resource (2.6)."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from refimpl.deviceplugin.state import select
from refimpl.deviceplugin.state.effects import (
    Allocate,
    Flow,
    GetPreferredAllocation,
    WriteCheckpoint,
)
from refimpl.deviceplugin.state.endpoints import Connection
from refimpl.deviceplugin.state.models import Container, ContainerResponse, Pod
from refimpl.deviceplugin.state.records import DeviceRecord, by_node
from refimpl.deviceplugin.state.tables import Tables
from refimpl.wire.status import Refused


class NotAllocated(Exception):
    """A container does not get its devices; the text says why. Final when a pod is admitted."""


class Died(Exception):
    """This kubelet would have ended here: a device it gave away has left the list (1.37.2)."""


class Allocator:
    """Allocation over the tables of one kubelet. Flows of one kubelet run one after another."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def allocate(self, pod: Pod, container: Container) -> Flow[None]:
        """Give a container all devices of its limits. NotAllocated as soon as one is not to be had;
        what the container got until then stays recorded until the pod has left."""
        tables = self._tables
        reusable = self._pool(pod)
        ours = [name for name in tables.order(container.limits) if tables.ours(name, container)]
        if ours:
            tables.collect()
        records = []
        for resource in ours:
            records.append((yield from self._resource(pod, container, resource, reusable)))
        if any(records):
            yield from self._write()
        self._settle(pod, container, reusable)

    def _pool(self, pod: Pod) -> dict[str, set[str]]:
        """Devices of this pod's init containers that are done by then; any other pod's are gone."""
        if self._tables.reusable_of != pod.uid:
            self._tables.reusable = {}
            self._tables.reusable_of = pod.uid
        return self._tables.reusable

    def _settle(self, pod: Pod, container: Container, reusable: dict[str, set[str]]) -> None:
        """An init container leaves its devices to later ones; what keeps running takes its out."""
        ends = container in pod.init and not container.restartable
        for record in self._tables.records.of_container(pod.uid, container.name):
            pool = reusable.setdefault(record.resource, set())
            if ends:
                pool |= record.ids
            else:
                pool -= record.ids

    def _resource(
        self, pod: Pod, container: Container, resource: str, reusable: dict[str, set[str]]
    ) -> Flow[DeviceRecord | None]:
        if self._settled(pod, container, resource):
            return None
        ids = yield from self._select(pod, container, resource, reusable.get(resource, ()))
        connection = self._connection(resource)
        response = yield from self._ask(connection, ids)
        record = self._record(pod, container, resource, ids, response)
        self._tables.records.put(record)
        return record

    def _settled(self, pod: Pod, container: Container, resource: str) -> bool:
        """True if nothing is to be allocated; NotAllocated if it cannot be. In kubelet's order."""
        tables = self._tables
        wanted = container.limits[resource]
        record = tables.records.get(pod.uid, container.name, resource)
        held = record.ids if record else frozenset()
        if record and len(held) != wanted:
            raise NotAllocated(
                f"container {container.name} of pod {pod.uid} asks for {wanted} of {resource} but"
                f" was given {len(held)} before; a request cannot change"
            )
        if self._believed(pod, container, record):
            return True
        self._check_health(resource, held)
        # Checked after the health of the resource: even a request for none needs a healthy device.
        return wanted - len(held) == 0

    def _believed(self, pod: Pod, container: Container, record: DeviceRecord | None) -> bool:
        """After a restart, whoever runs already has his devices: the plugin may still be silent."""
        tables = self._tables
        if tables.settings.trusts_checkpoint and tables.same_boot and record:
            return True
        if tables.sources_ready:
            return False
        excused = tables.settings.excuses_finished_init and container in pod.init and record
        if excused and any(uid == pod.uid for uid, _ in tables.running):
            return True
        return (pod.uid, container.name) in tables.running

    def _check_health(self, resource: str, held: frozenset[str]) -> None:
        healthy = self._tables.devices.healthy.get(resource)
        if healthy is None:
            raise NotAllocated(f"{resource} is not registered; nothing of it can be allocated")
        if not healthy:
            raise NotAllocated(f"{resource} has no healthy device; nothing of it can be allocated")
        if lost := held - healthy:
            raise NotAllocated(
                f"devices {', '.join(sorted(lost))} of {resource}, allocated before, are not"
                " healthy any more"
            )

    def _select(
        self, pod: Pod, container: Container, resource: str, reusable: Iterable[str]
    ) -> Flow[list[str]]:
        tables = self._tables
        affinity = tables.scope.affinity(pod.uid, container.name)
        known, free = tables.devices.of(resource), tables.free(resource)
        wanted = container.limits[resource]
        choice = select.select(wanted, known, free, reusable, affinity, tables.order)
        try:
            ids = yield from self._consult(choice, resource)
        except select.TooFew as few:
            raise NotAllocated(
                f"{resource}: {few.missing} devices requested, {few.available} available"
            ) from few
        tables.take(resource, ids)
        return ids

    def _consult(
        self, choice: Generator[select.Question, Iterable[str], list[str]], resource: str
    ) -> Flow[list[str]]:
        try:
            question = next(choice)
            while True:
                question = choice.send((yield from self._preferred(resource, question)))
        except StopIteration as stop:
            ids: list[str] = stop.value
            return ids

    def _preferred(self, resource: str, question: select.Question) -> Flow[tuple[str, ...]]:
        """What the plugin prefers; nothing if it does not say that it can be asked."""
        tables = self._tables
        connection = self._connection(resource)
        if not connection.options.preferred:
            return ()
        self._check_running(connection)
        if tables.settings.leaks:
            tables.take(resource, question.chosen)
        available, must = tables.order(question.available), tables.order(question.chosen)
        call = GetPreferredAllocation(connection, tuple(available), tuple(must), question.size)
        try:
            responses: tuple[tuple[str, ...], ...] = yield call
        except Refused as refused:
            raise NotAllocated(f"{resource}: GetPreferredAllocation failed: {refused}") from refused
        return responses[0] if responses else ()

    def _connection(self, resource: str) -> Connection:
        connection = self._tables.endpoints.primary.get(resource)
        if connection is None:
            self._tables.rebuild()
            raise NotAllocated(f"{resource} has no plugin; nothing of it can be allocated")
        return connection

    def _check_running(self, connection: Connection) -> None:
        if connection.stopped is not None:
            raise NotAllocated(f"the plugin of {connection.resource} has stopped")

    def _ask(self, connection: Connection, ids: list[str]) -> Flow[ContainerResponse]:
        tables = self._tables
        resource = connection.resource
        call = Allocate(connection, tuple(tables.order(ids)))
        try:
            self._check_running(connection)
            responses: tuple[ContainerResponse, ...] = yield call
        except (Refused, NotAllocated) as refused:
            tables.rebuild()
            raise NotAllocated(f"{resource}: Allocate failed: {refused}") from refused
        if not responses:
            if not tables.settings.leaks:
                tables.rebuild()
            raise NotAllocated(f"{resource}: Allocate answered without any container response")
        if len(responses) > 1:
            tables.note(f"{resource}: of {len(responses)} container responses the first is used")
        return responses[0]

    def _record(
        self,
        pod: Pod,
        container: Container,
        resource: str,
        ids: list[str],
        response: ContainerResponse,
    ) -> DeviceRecord:
        tables = self._tables
        vanished = [name for name in ids if name not in tables.devices.of(resource)]
        if vanished:
            sentence = (
                f"devices {', '.join(vanished)} left the list of {resource} while Allocate for them"
                " was under way; list them as Unhealthy until it is answered (kubelet 1.37 dies)"
            )
            tables.note(sentence)
            if tables.settings.vanished_device_kills:
                raise Died(sentence)
        places = by_node(tables.devices, resource, ids)
        return DeviceRecord(pod.uid, container.name, resource, places, response)

    def _write(self) -> Flow[None]:
        try:
            yield WriteCheckpoint()
        except (Refused, OSError) as error:
            raise NotAllocated(f"the checkpoint could not be written: {error}") from error
