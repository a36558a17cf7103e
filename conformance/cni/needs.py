"""What CNI cases need of a target; a need says why a case is skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from refimpl.cni import contract

if TYPE_CHECKING:
    from conformance.cni.target import CniTarget

_KINDS = {
    "interface": "makes no interface of its own",
    "chained": "is no chained plugin",
    "ipam": "is no IPAM plugin",
}


@attrs.frozen
class Kind:
    """A plugin of that kind: interface, chained or ipam."""

    label: str

    def unmet(self, target: CniTarget) -> str | None:
        """See case.Need."""
        if target.subject_of(self.label):
            return None
        return f"{target.name} {_KINDS[self.label]}"


@attrs.frozen
class Version:
    """A plugin that advertises that version of the specification or a newer one."""

    label: str

    def unmet(self, target: CniTarget) -> str | None:
        """See case.Need."""
        newest = target.main.newest
        if contract.at_least(newest, self.label):
            return None
        return f"{target.name} advertises no version from {self.label} on, only up to {newest}"


@attrs.frozen
class Has:
    """Something the target says of itself by a property that gives the reason to skip, or ""."""

    name: str
    label: str

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        return getattr(target, self.name) or None


@attrs.frozen
class HasDocuments:
    """Something documents under test say of themselves by a property, as in Has."""

    name: str
    label: str

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        return getattr(target.documents, self.name) or None


INTERFACE, CHAINED, IPAM = Kind("interface"), Kind("chained"), Kind("ipam")
V0_4, V1_0, V1_1 = Version("0.4.0"), Version("1.0.0"), Version("1.1.0")
NETNS = Has("no_netns", "network namespaces")
DELEGATES = Has("no_delegate", "delegates to an IPAM plugin")
RANGES = Has("no_ranges", "addresses from ipam.ranges")
"""An IPAM plugin whose ranges the configuration names, as host-local's does."""
LOCAL_STORE = Has("no_local_store", "addresses kept in ipam.dataDir")
"""One that moreover keeps its reservations as host-local does, where the configuration says."""
DAEMON = Has("no_daemon", "asks a daemon")
DEPENDENT = Has("independent", "depends on a plugin, a store or a daemon")
ATTACHES = Has("no_attachment", "ADD: network namespaces, but for an IPAM plugin, and its daemon")
SERVED = Has("unserved", "its daemon, where it has one")
MAKES_LINK = Has("no_own_link", "makes the interface, rather than finding it there")
SHARES = Has("takes_device", "any number of attachments at a time")
UNAIDED = Has("aided", "runs no other plugin")
READ = HasDocuments("unread", "a document that can be read")
DIRECTORY = HasDocuments("alone", "a directory of documents")
INSTALLED = HasDocuments("no_plugins", "--cni-path")


@attrs.frozen
class Can:
    """A feature of the runtime under test (conformance/cni/runtimes/subject.py, Feature)."""

    feature: str
    label: str

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        reason: str | None = target.bench.subject.lacks.get(self.feature)
        return reason


PODS = Can("pods", "sandboxes of pods")
CHECKS, COLLECTS = Can("check", "a way to ask for CHECK"), Can("gc", "a way to ask for GC")
RESTARTS, KILLS = Can("restart", "can be restarted"), Can("kill", "can be killed")
REBOOTS = Can("reboot", "can be rebooted")
RUNTIME_NETNS = Can("netns", "network namespaces of the runtime")
CACHE, CHOSEN_IDS = Can("cache", "its cache of results"), Can("ids", "container ids of our choice")
SEVERAL_NETWORKS = Can("several", "several networks a pod")
SEVERAL_BIN_DIRS = Can("bin_dirs", "several plugin directories")
