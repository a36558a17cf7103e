"""Which sockets of plugins_registry a client finds (REG)."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from conformance.deviceplugin.registry import INFO, NOTIFY, OPTIONS, SOON_S, registered
from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, together
from conformance.kubelet.node import NodeUnderTest
from refimpl.registration.api import registration_pb2 as pb
from refimpl.registration.plugin import RegistrationService
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.server import Call, Server
from refimpl.wire.status import Code

SOURCE = "kubelet: plugin watcher"
WATCHES = Feature("watcher")
CROWD = 200


@case("REG-001", SOURCE, needs=[WATCHES])
def test_a_socket_that_appears_is_asked_taken_in_and_told_in_this_order(
    node: NodeUnderTest,
) -> None:
    """A plugin that hears of its success before it was taken in starts work that nobody wants."""
    plugin = node.plugin(watched=True)
    plugin.serve()
    node.until(
        lambda: plugin.registration.notified, "a socket in plugins_registry is registered", SOON_S
    )
    registered(node, plugin)
    order = [rpc for rpc in plugin.order if rpc in (INFO, OPTIONS, NOTIFY)]
    expect(
        order == [INFO, OPTIONS, NOTIFY],
        "a plugin says who it is, its handler takes it in, and then it is told",
        wanted=[INFO, OPTIONS, NOTIFY],
        got=order,
    )


@case("REG-002", SOURCE, needs=[WATCHES, Feature("restart")])
def test_a_socket_that_was_there_before_the_client_is_registered(node: NodeUnderTest) -> None:
    """After a reboot drivers often start before kubelet (kubernetes 64638)."""
    plugin = node.plugin(watched=True)
    node.client.end()
    plugin.serve()
    node.start()
    registered(node, plugin)


@case("REG-003", SOURCE, needs=[WATCHES])
def test_sockets_in_new_folders_are_found_however_deep(node: NodeUnderTest) -> None:
    """Drivers make a folder of their own and bind in it at once: the watch must not come late."""
    tops = [f"new-{number}" for number in range(4)]
    plugins = [node.plugin(socket=f"{top}/deep/er/plugin.sock", watched=True) for top in tops]
    for top, plugin in zip(tops, plugins, strict=True):
        node.own(node.registry / top)
        plugin.path.parent.mkdir(parents=True)
        plugin.serve()
    for plugin in plugins:
        registered(node, plugin)


@case("REG-004", SOURCE, needs=[WATCHES])
def test_a_socket_with_a_hidden_name_is_left_alone(node: NodeUnderTest) -> None:
    """Drivers bind under such a name and rename when they are ready; asked early, they fail."""
    hidden = node.plugin(socket=".hidden.sock", watched=True)
    hidden.serve()
    later = node.plugin(watched=True)
    later.serve()
    registered(node, later)
    node.stays(
        lambda: not hidden.calls(INFO), "a name that begins with a dot is ignored", "no call"
    )


@case("REG-005", SOURCE, needs=[WATCHES])
def test_files_and_pipes_are_ignored_and_a_link_to_a_socket_is_followed(
    node: NodeUnderTest,
) -> None:
    """Others leave locks and notes there; and operators link to sockets that lie elsewhere."""
    file, pipe, link = (node.own(node.registry / f"odd.{kind}") for kind in ("txt", "fifo", "sock"))
    plugin = node.plugin(watched=True)
    plugin.serve(node.client.folder / link.name)
    file.write_text("no plugin")
    os.mkfifo(pipe)
    link.symlink_to(plugin.path)
    with together() as check:
        with check:
            registered(node, plugin)
        late = node.plugin(watched=True)
        late.serve()
        with check:
            registered(node, late)
        with check:
            expect(
                file.exists() and pipe.exists(),
                "what is no socket stays as it is",
                wanted="file and pipe",
                got=sorted(os.listdir(node.registry)),
            )


class Crowd(RegistrationService):
    """A resource of its own for each GetInfo, as of so many plugins; the service is elsewhere."""

    def __init__(self, stem: str, main: Path) -> None:
        super().__init__("DevicePlugin", stem, str(main), ("v1beta1",))
        self._numbers = itertools.count(1)

    def GetInfo(self, request: pb.InfoRequest, call: Call) -> pb.PluginInfo:  # noqa: N802
        """Who the next plugin is."""
        info = super().GetInfo(request, call)
        info.name = f"{self.name}{next(self._numbers)}"
        return info


@case("REG-024", SOURCE, needs=[WATCHES])
def test_two_hundred_sockets_at_once_are_all_registered(node: NodeUnderTest) -> None:
    """When a node starts they come in one go; whoever is overlooked then stays so (queue overflow).

    They are links to one socket, and the lists of their resources do not matter here.
    """
    main = node.plugin()
    main.refused["ListAndWatch"] = Code.UNAVAILABLE
    main.serve()
    crowd = Crowd(node.resource("crowd"), main.path)
    node.spoil()

    def all_registered() -> bool:
        done = sum(status.registered for status in crowd.notified)
        if done < CROWD:
            node.hasten(0.5)  # on a busy machine some attempts are too slow
        return done >= CROWD

    with _links(node, crowd):
        node.until(all_registered, f"all {CROWD} plugins are registered", 4 * SOON_S)


@contextlib.contextmanager
def _links(node: NodeUnderTest, crowd: Crowd) -> Iterator[None]:
    """Serves it at a hidden name, to which the sockets are links."""
    hidden = node.registry / ".crowd.sock"
    with Server(crowd.services(), journal=node.journal) as server:
        server.start(Endpoint.parse(hidden))
        for number in range(CROWD):
            os.link(hidden, node.own(node.registry / f"crowd-{number}.sock"))
        yield
