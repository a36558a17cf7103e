"""What CNI cases need of a target; the names are those under which it tells why it lacks something.

plugins.lacking, networks.documents and runtimes.subject have the reasons.
"""

from __future__ import annotations

from conformance.cni.runtimes import subject
from conformance.engine.needs import Feature

# A plugin of that kind.
INTERFACE, CHAINED, IPAM = Feature("interface"), Feature("chained"), Feature("ipam")
# One that advertises that version of the specification or a newer one.
V0_4, V1_0, V1_1 = Feature("0.4.0"), Feature("1.0.0"), Feature("1.1.0")

NETNS = Feature("netns", "network namespaces")
DELEGATES = Feature("delegates", "delegates to an IPAM plugin")
RANGES = Feature("ranges", "addresses from ipam.ranges")
"""An IPAM plugin whose ranges the configuration names, as host-local's does."""
LOCAL_STORE = Feature("local store", "addresses kept in ipam.dataDir")
"""One that moreover keeps its reservations as host-local does, where the configuration says."""
DAEMON = Feature("daemon", "asks a daemon")
DEPENDENT = Feature("dependent", "depends on a plugin, a store or a daemon")
ATTACHES = Feature("attaches", "ADD: network namespaces, but for an IPAM plugin, and its daemon")
SERVED = Feature("served", "its daemon, where it has one")
MAKES_LINK = Feature("makes link", "makes the interface, rather than finding it there")
SHARES = Feature("shares", "any number of attachments at a time")
UNAIDED = Feature("unaided", "runs no other plugin")

READ = Feature("read", "a document that can be read")
DIRECTORY = Feature("directory", "a directory of documents")
INSTALLED = Feature("installed", "--cni-path")

PODS = Feature(subject.PODS, "sandboxes of pods")
RESTARTS = Feature(subject.RESTART, "can be restarted")
KILLS = Feature(subject.KILL, "can be killed")
REBOOTS = Feature(subject.REBOOT, "can be rebooted")
RUNTIME_NETNS = Feature(subject.NETNS, "network namespaces of the runtime")
CACHE = Feature(subject.CACHE, "its cache of results")
CHOSEN_IDS = Feature(subject.IDS, "container ids of our choice")
SEVERAL_NETWORKS = Feature(subject.SEVERAL, "several networks a pod")
SEVERAL_BIN_DIRS = Feature(subject.BIN_DIRS, "several plugin directories")
