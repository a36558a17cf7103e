"""What a case about a kubelet works with: plugins and pods of its own on the node under test."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from conformance.engine.ledger.entries import discard
from conformance.engine.scope import CaseScope
from conformance.engine.targets.revision import Revision
from conformance.engine.verdict import Broken, eventually, stays
from conformance.kubelet.case_podresources import CasePodResources
from conformance.kubelet.case_pods import CasePods
from conformance.kubelet.client import DEADLINE_S, Ability, Client
from refimpl.deviceplugin.api import deviceplugin_pb2 as dp
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.node.choices import KubeletChoices
from refimpl.wire.journal import Journal

__all__ = ["NodeUnderTest"]

T = TypeVar("T")


class NodeUnderTest:
    """The node for one case: its plugins, its `pods`, and what its pod resources (`podresources`)
    say. `revision` is the release of Kubernetes whose rules hold for it. What the case makes is
    taken away after it."""

    def __init__(
        self,
        client: Client,
        journal: Journal,
        revision: Revision,
        *,
        name: str,
        quiet_s: float,
        deadline_s: float = DEADLINE_S,
        choices: KubeletChoices | None = None,
    ) -> None:
        self._client, self.journal, self.revision = client, journal, revision
        self.choices = choices or KubeletChoices()
        """What the client was started with."""
        self._chosen = False
        self.quiet_s, self.deadline_s = quiet_s, deadline_s
        self._name = name
        self._numbers = itertools.count(1)
        self._scope = CaseScope()
        self.spoilt = False
        self.pods = CasePods(lambda: self.client, name, self.until)
        self.podresources = CasePodResources(lambda: self.client, journal)

    @property
    def client(self) -> Client:
        """The client under test; it runs as it comes where the case has not `configured` it."""
        if not self._chosen:
            self.configured(KubeletChoices())
        return self._client

    def since(self, release: str) -> bool:
        """Whether the rules of that release of Kubernetes hold, or those of a later one."""
        return self.revision.since(release)

    @property
    def able(self) -> frozenset[Ability]:
        """What the client can do, however it is configured."""
        return self._client.able

    # -- places ---------------------------------------------------------------------------------

    @property
    def plugins(self) -> Path:
        """The device-plugins directory."""
        return self.client.folder / "device-plugins"

    @property
    def registry(self) -> Path:
        """The plugins_registry directory."""
        return self.client.root / "plugins_registry"

    def resource(self, stem: str = "dev") -> str:
        """The name of a resource that no other case uses."""
        return f"{self._name}-{next(self._numbers)}.example.com/{stem}"

    def own(self, path: Path) -> Path:
        """A file or folder that the case makes there; it goes with the case."""
        self._scope.callback(lambda: discard(str(path)))
        return path

    # -- plugins --------------------------------------------------------------------------------

    def plugin(
        self, resource: str = "", *, socket: str = "", watched: bool = False, main: str = ""
    ) -> ScriptedPlugin:
        """A plugin that does not serve yet. `watched`: its socket lies in plugins_registry, which
        the client watches; else it has to register."""
        name = socket or f"{self._name}-{next(self._numbers)}.sock"
        folder = self.registry if watched else self.plugins
        path = folder / name
        plugin = ScriptedPlugin(path, resource or self.resource(), main=main, journal=self.journal)
        self._scope.callback(lambda: _end(plugin))
        return plugin

    def join(self, plugin: ScriptedPlugin, *devices: str | dp.Device) -> ScriptedPlugin:
        """Has it serve, register and list these devices, and waits until they have arrived."""
        if not plugin.serving:
            plugin.serve()
        plugin.send(*devices)
        if plugin.path.parent == self.plugins:
            plugin.register(self.plugins)
        self.arrived(plugin, *devices)
        return plugin

    def arrived(self, plugin: ScriptedPlugin, *devices: str | dp.Device) -> None:
        """Waits until the client has the list that the plugin sent."""
        healthy = {d if isinstance(d, str) else d.ID for d in devices if _healthy(d)}
        self.until(
            lambda: self.podresources.allocatable(plugin.resource) == healthy,
            f"the client takes in the list of {plugin.resource}",
        )

    def joined(self, *devices: str | dp.Device) -> ScriptedPlugin:
        """A new plugin of a new resource that has joined; devices a and b unless others are
        named."""
        return self.join(self.plugin(), *(devices or ("a", "b")))

    def counted(self, resource: str, wanted: tuple[int, int], what: str) -> None:
        """Waits until the node's status has this capacity and allocatable; raises Broken."""
        try:
            self.until(lambda: self.counts(resource) == wanted, what)
        except Broken as broken:
            rule = f"capacity, allocatable = {wanted}"
            raise Broken(what, rule, f"{self.counts(resource)}; {broken.got}") from None

    def counts(self, resource: str) -> tuple[int, int] | None:
        """Capacity and allocatable in the node's status; None where it has no such resource."""
        status = self.client.node()
        if resource not in status.capacity:
            return None
        return status.capacity[resource], status.allocatable.get(resource, 0)

    # -- waiting --------------------------------------------------------------------------------

    def until(self, predicate: Callable[[], T], what: str, deadline_s: float | None = None) -> T:
        """Waits until it is true; raises Broken, at once where the client has died."""
        return eventually(predicate, deadline_s or self.deadline_s, what, unless=self._ended)

    def _ended(self) -> str:
        fate = self.client.fate()
        return f"it ended: {fate}" if fate else ""

    def hasten(self, seconds: float) -> None:
        """Lets so much time pass where the client's clock can be moved; elsewhere it passes by
        itself, and `until` waits for it."""
        if "clock" in self.client.able:
            self.client.advance(seconds)

    def stays(self, predicate: Callable[[], object], what: str, wanted: object) -> None:
        """Watches for a while that something remains true; raises Broken when it is not."""
        stays(predicate, self.quiet_s, what, wanted=wanted)

    # -- the client's process -------------------------------------------------------------------

    def restart(self, *, kill: bool = True, choices: KubeletChoices | None = None) -> None:
        """Ends the client, as by a crash unless told otherwise, and starts it again."""
        self.client.end(kill=kill)
        self.start(choices)

    def start(self, choices: KubeletChoices | None = None) -> None:
        """Starts it, perhaps with other choices, which are taken back after the case."""
        self.client.start(choices)
        if choices is not None:
            self.spoilt, self.choices = True, choices

    def configured(self, choices: KubeletChoices) -> None:
        """Has the client run with these choices, also after the case. Only if it runs with others
        it is started again, and what the case has made is taken away before.

        Raises BadOption for choices that it cannot have; it does not run then.
        """
        self._chosen = True
        if self._client.running() and self.choices == choices:
            return
        self.clean_up()
        self._client.end(kill=True)
        self._client.start(choices)
        self.choices = choices

    def spoil(self) -> None:
        """The case leaves the client in a state that others could stumble over: it is started anew
        on an empty folder afterwards."""
        self.spoilt = True

    def clean_up(self) -> None:
        """Takes away what the case made."""
        self._scope.close()
        self.pods.forget(self._client)
        self.podresources.close()


def _end(plugin: ScriptedPlugin) -> None:
    plugin.stop()
    if plugin.path.is_socket():
        plugin.path.unlink(missing_ok=True)


def _healthy(device: str | dp.Device) -> bool:
    return isinstance(device, str) or device.health == "Healthy"
