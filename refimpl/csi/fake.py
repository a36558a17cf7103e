"""A whole CSI driver: state, storage, services and sockets put together."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs
from google.protobuf.descriptor import ServiceDescriptor

from refimpl.csi import ids
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.breakage import Breakable
from refimpl.csi.persist import STORAGE, StateLog, restore
from refimpl.csi.profiles import settings_of
from refimpl.csi.services.controller import ControllerService
from refimpl.csi.services.group import GroupControllerService
from refimpl.csi.services.identity import IdentityService
from refimpl.csi.services.metadata import SnapshotMetadataService
from refimpl.csi.services.node import NodeService
from refimpl.csi.state import DriverState
from refimpl.csi.state.capabilities import Revision
from refimpl.csi.state.node import NodeState
from refimpl.csi.state.ports import ChangeKind, Clock
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.storage import (
    ANYWHERE,
    Bounds,
    Mode,
    OpenStorage,
    open_storage,
    remove,
    temporary_root,
)
from refimpl.registration.plugin import RegistrationService
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.fake import Fake, Where
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Journal
from refimpl.wire.server import Server

__all__ = ["FakeDriver"]

REGISTRATION_VERSION = "1.0.0"
"""The version of CSI that kubelet asks for when a driver registers: 1 point anything."""

_SERVICES = pb.DESCRIPTOR.services_by_name


class FakeDriver(Breakable, Fake):
    """A driver with a controller and `nodes` nodes, at one socket and one more per further node.

    `split` puts the first node on a socket of its own, too, as where controller and node run in
    different pods.
    `profile`, `without` (capabilities) and `settings` choose what it does, see `csi.profiles`.
    `register` is the plugins_registry of a kubelet that is to find the first node, without a
    registrar beside the driver.
    `state_dir` is remembered over a restart; without it nothing is left behind. `storage`: a mode
    of `csi.storage`. `targets_below`: the directory that staging paths and targets have to lie in,
    without a link on the way. Raises ValueError for choices that do not exist or contradict each
    other.
    """

    socket_name: ClassVar[str] = "csi.sock"

    def __init__(
        self,
        endpoint: Where | None = None,
        *,
        profile: str | DriverSettings = "default",
        revision: Revision = "1.13",
        nodes: int = 1,
        split: bool = False,
        register: str | os.PathLike[str] | None = None,
        state_dir: str | os.PathLike[str] | None = None,
        storage: Mode = "auto",
        targets_below: str | os.PathLike[str] | None = None,
        without: Iterable[str] = (),
        settings: Mapping[str, object] | None = None,
        clock: Clock = time.time,
        faults: Faults | None = None,
        journal: Journal | Path | str | None = None,
        control: Where | None = None,
        allow_remote: bool = False,
    ) -> None:
        super().__init__(
            endpoint, faults=faults, journal=journal, control=control, allow_remote=allow_remote
        )
        base = settings_of(profile, revision) if isinstance(profile, str) else profile
        self.settings = base.without(*without).with_(**(settings or {}))
        if nodes < 1:
            raise ValueError(f"nodes={nodes}: a driver has at least one node")
        if register is not None and self._wanted and self._wanted.kind != "unix":
            raise ValueError(
                f"register={register}: kubelet does not call {self._wanted}, only unix:"
            )
        self._node_count = nodes
        self._split = split
        self._registry = None if register is None else Path(register).absolute()
        self._state_dir = None if state_dir is None else Path(state_dir)
        self._mode: Mode = storage
        self._bounds = Bounds(os.fspath(targets_below)) if targets_below else ANYWHERE
        self._clock = clock
        self._running: _Running | None = None

    @property
    def state(self) -> DriverState:
        """What the driver knows; RuntimeError while it is not started."""
        return self._started().state

    @property
    def nodes(self) -> list[Endpoint]:
        """Where the Node service of each node is."""
        further = [server.endpoint for server in self._started().servers]
        return further if self._split else [self.endpoint, *further]

    @property
    def registration(self) -> RegistrationService:
        """What kubelet was sent and what it answered; RuntimeError without `register`."""
        registration = self._started().registration
        if registration is None:
            raise RuntimeError("the driver registers nowhere; give it a plugins_registry")
        return registration

    @property
    def storage(self) -> OpenStorage:
        """Where the content lies; its `capabilities` tell what can be observed."""
        return self._started().storage

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> Endpoint:
        """Serve. Raises what `Fake.start` does, and StateError for an unusable state directory."""
        if self._running is None:
            self._running = self._opened()
        try:
            endpoint = super().start()
            self._start_nodes(self._running)
            if self._registry is not None:
                self._announce(self._running, self._registry)
        except BaseException:
            self.stop()
            raise
        return endpoint

    def stop(self, grace_s: float = 1.0) -> None:
        """End, and leave nothing behind but what `state_dir` is to remember."""
        running, self._running = self._running, None
        if running and running.registrar:
            running.registrar.stop(grace_s)  # kubelet lets go of it while it still answers
        for server in running.servers if running else ():
            server.server.stop(grace_s)
        super().stop(grace_s)
        if running:
            running.storage.close(keep=self._state_dir is not None)
            running.close()

    def services(self) -> Mapping[ServiceDescriptor, object]:
        """All five services; those the driver does not offer refuse by themselves."""
        state, point = self.state, self.faults.point
        served: dict[ServiceDescriptor, object] = {
            _SERVICES["Identity"]: IdentityService(state),
            _SERVICES["Controller"]: ControllerService(state, point),
            _SERVICES["GroupController"]: GroupControllerService(state, point),
            _SERVICES["SnapshotMetadata"]: SnapshotMetadataService(state),
        }
        if not self._split:
            served[_SERVICES["Node"]] = NodeService(NodeState(state.tables, "node-0"), point)
        return served

    def node_services(self, index: int) -> Mapping[ServiceDescriptor, object]:
        """What the socket of a node serves: the same identity, and that node."""
        node = NodeState(self.state.tables, f"node-{index}")
        return {
            _SERVICES["Identity"]: IdentityService(self.state),
            _SERVICES["Node"]: NodeService(node, self.faults.point),
        }

    # -- parts --------------------------------------------------------------------------------

    def _started(self) -> _Running:
        if self._running is None:
            raise RuntimeError("the driver is not started; call start() or use it in a with block")
        return self._running

    def _opened(self) -> _Running:
        with contextlib.ExitStack() as stack:
            log = None
            if self._state_dir is None:
                root = temporary_root()
                stack.callback(remove, root)
            else:
                log = StateLog(self._state_dir)
                stack.callback(log.close)
                root = str(self._state_dir / STORAGE)
            opened = open_storage(self._mode, root, self._bounds)
            state = DriverState(
                self.settings,
                clock=self._clock,
                ids=ids.style(self.settings.ids),
                storage=opened,
                on_change=self._written(log),
                nodes=self._node_count,
            )
            if log:
                restore(state.tables, log, opened)
            return _Running(state, opened, stack.pop_all())

    def _written(self, log: StateLog | None) -> Any:
        """OnChange with a crash point on both sides of the writing."""
        point = self.faults.point

        def write(kind: ChangeKind, key: str, record: object | None) -> None:
            point(f"{kind}.before_write")
            if log:
                log.append(kind, key, record)
            point(f"{kind}.after_write")

        return write

    def _start_nodes(self, running: _Running) -> None:
        for index in range(0 if self._split else 1, self._node_count):
            server = Server(
                self.node_services(index),
                journal=self.journal,
                faults=self.faults,
                allow_remote=self._allow_remote,
            )
            running.servers.append(_NodeServer(server, server.start(self._beside(index))))

    def _announce(self, running: _Running, registry: Path) -> None:
        """Does what node-driver-registrar does, under the name of the socket that it uses."""
        name = self.settings.driver_name
        running.registration = RegistrationService(
            "CSIPlugin", name, os.path.abspath(self.nodes[0].path), (REGISTRATION_VERSION,)
        )
        running.registrar = Server(
            running.registration.services(), journal=self.journal, faults=self.faults
        )
        registry.mkdir(mode=0o755, parents=True, exist_ok=True)
        running.registrar.start(Endpoint.parse(registry / f"{name}-reg.sock"))

    def _beside(self, index: int) -> Endpoint:
        first = self.endpoint
        if first.kind != "unix":
            return attrs.evolve(first, port=0)
        path = Path(first.path)
        return attrs.evolve(first, path=str(path.with_name(f"{path.stem}-{index}{path.suffix}")))


@attrs.define
class _NodeServer:
    server: Server
    endpoint: Endpoint


@attrs.define
class _Running:
    """What exists between start and stop."""

    state: DriverState
    storage: OpenStorage
    stack: contextlib.ExitStack
    servers: list[_NodeServer] = attrs.field(factory=list)
    registration: RegistrationService | None = None
    registrar: Server | None = None

    def close(self) -> None:
        """Give back directories and files."""
        self.stack.close()
