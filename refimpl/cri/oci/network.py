"""The network of pods: ADD and DEL of real CNI plugins, as the runtime side of our CNI calls them.

Where the user names no configuration it is one of our own: a bridge with a range for this runtime
alone, and host ports, made of the reference plugins.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path

from refimpl.cni.config import ConfigError
from refimpl.cni.contract import CniError
from refimpl.cni.runtime import Runtime, Trouble
from refimpl.cni.runtime.discovery import find
from refimpl.cni.runtime.kubernetes import Pod, Port, Resolver
from refimpl.cni.runtime.pod import PodNetwork
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.oci.pins import unpin
from refimpl.cri.state.models import Condition, Sandbox
from refimpl.cri.virtual.network import AddressPool
from refimpl.wire.status import Code, Refused

__all__ = ["BRIDGE", "CniNetwork", "own_configuration"]

_PROFILE = "strict"
_TROUBLES = (CniError, Trouble, ConfigError, OSError, ValueError, ExceptionGroup)
_NOT_READY = "NetworkPluginNotReady"


class CniNetwork:
    """folder: of configurations, looked at anew for each pod. plugins: folders of them. cache:
    where results are kept."""

    def __init__(self, folder: Path, plugins: Sequence[Path], cache: Path) -> None:
        self._folder = folder
        self._runtime = Runtime([*plugins], cache, profile=_PROFILE)
        self._nowhere = AddressPool()
        self._attached: dict[str, tuple[PodNetwork, Pod]] = {}
        self._lock = threading.Lock()

    def attach(self, sandbox: Sandbox) -> Sequence[str]:
        """What its first interface got; of a sandbox without a namespace, one that leads nowhere.
        UNKNOWN for what a plugin refuses."""
        if not sandbox.netns:
            return self._nowhere.attach(sandbox)
        try:
            network = self._network()
            pod = _pod(sandbox)
            with self._lock:
                self._attached[sandbox.id] = network, pod
            attached = network.setup(pod)
        except _TROUBLES as error:
            with self._lock:
                self._attached.pop(sandbox.id, None)
            raise _refused("network of the pod cannot be made", error) from None
        return attached.addresses

    def detach(self, sandbox: Sandbox) -> None:
        """Its namespace ends as well. UNKNOWN for what a plugin refuses; all is there still, so
        that it can be repeated."""
        with self._lock:
            known = self._attached.get(sandbox.id)
        if known is not None:
            network, pod = known
            try:
                network.teardown(pod)
            except _TROUBLES as error:
                raise _refused("network of the pod cannot be taken down", error) from None
            with self._lock:
                self._attached.pop(sandbox.id, None)
        if sandbox.netns:
            unpin(Path(sandbox.netns))

    def condition(self) -> Condition:
        """Not where there is no usable configuration, or a plugin says that it is not ready."""
        try:
            self._network().status()
        except _TROUBLES as error:
            return Condition(False, _NOT_READY, f"cni config: {error}")
        return Condition()

    def _network(self) -> PodNetwork:
        return PodNetwork(self._runtime, find(self._folder, self._runtime).networks)


BRIDGE = "rioci{}"
"""Name of the link; the number is that of the runtime."""


def own_configuration(number: int, addresses: Path) -> str:
    """A network list; number: of the runtime, so that no two have one range or bridge. addresses:
    folder where those that are taken are remembered."""
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE.format(number),
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(addresses),
            "ranges": [
                [{"subnet": f"10.247.{number}.0/24"}],
                [{"subnet": f"fd7f:7265:6669:{number:x}::/64"}],
            ],
            "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}
    document = {
        "cniVersion": "1.0.0",
        "name": f"refimpl-oci-{number}",
        "plugins": [bridge, ports],
    }
    return json.dumps(document, indent=1)


def _pod(sandbox: Sandbox) -> Pod:
    config, key = sandbox.config, sandbox.key
    dns = config.dns_config
    ports = [
        Port(
            each.container_port,
            max(0, each.host_port),
            pb.Protocol.Name(each.protocol),
            each.host_ip,
        )
        for each in config.port_mappings
    ]
    return Pod(
        id=sandbox.id,
        netns=sandbox.netns,
        name=key.name,
        namespace=key.namespace,
        uid=key.uid,
        annotations=dict(config.annotations),
        ports=ports,
        dns=Resolver(tuple(dns.servers), tuple(dns.searches), tuple(dns.options)),
        cgroup_parent=config.linux.cgroup_parent,
    )


def _refused(what: str, error: BaseException) -> Refused:
    causes = error.exceptions if isinstance(error, ExceptionGroup) else [error]
    notes = [note for each in causes for note in getattr(each, "__notes__", ())]
    return Refused(Code.UNKNOWN, "; ".join([f"the {what}: {error}", *map(str, causes), *notes]))
