"""Named drivers: sets of choices that drivers in the field make, for both revisions.

`default` advertises all there is. The others leave something out or behave in another way that the
specification allows; what the revision does not know is left out by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from refimpl.csi.state.capabilities import Revision
from refimpl.csi.state.models import AccessMode
from refimpl.csi.state.settings import GIB, DriverSettings

Profile = Callable[[Revision], DriverSettings]

_SINGLE_NODE = frozenset(mode for mode in AccessMode if mode.name.startswith("SINGLE_NODE"))
_READER = frozenset(mode for mode in AccessMode if mode.read_only)
_GROUP_AND_METADATA = ("GROUP_CONTROLLER_SERVICE", "SNAPSHOT_METADATA_SERVICE")
_TOPOLOGY = ("VOLUME_ACCESSIBILITY_CONSTRAINTS", "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS")


def default(revision: Revision) -> DriverSettings:
    """Everything on."""
    return DriverSettings(revision=revision)


def controller_only(revision: Revision) -> DriverSettings:
    """A controller whose node half runs elsewhere: Node RPCs are UNIMPLEMENTED here."""
    return DriverSettings(revision=revision, node_service=False)


def node_only(revision: Revision) -> DriverSettings:
    """No controller at all: volumes exist beforehand (static-0, static-1) or are made inline."""
    return attrs.evolve(
        default(revision).without("CONTROLLER_SERVICE", "VOLUME_ACCESSIBILITY_CONSTRAINTS"),
        ephemeral=True,
        preprovisioned=("static-0", "static-1"),
        attach_limit=0,
    )


def no_staging(revision: Revision) -> DriverSettings:
    """Volumes are published without being staged."""
    return default(revision).without("STAGE_UNSTAGE_VOLUME")


def read_only(revision: Revision) -> DriverSettings:
    """Volumes that are only ever read, such as images and data sets."""
    settings = default(revision).without("EXPAND_VOLUME", "CLONE_VOLUME", "MODIFY_VOLUME")
    return attrs.evolve(settings.without("SINGLE_NODE_MULTI_WRITER"), modes=_READER)


def topology(revision: Revision) -> DriverSettings:
    """Zonal block storage: three zones with pools of their own, a node in each."""
    return DriverSettings(
        revision=revision,
        zones=("zone-a", "zone-b", "zone-c"),
        nodes_per_zone=1,
        pool_per_zone=True,
    )


def zonal_snapshots(revision: Revision) -> DriverSettings:
    """As `topology`, and a snapshot can be restored only where its volume is (1.13)."""
    return attrs.evolve(topology(revision), snapshot_zones="source")


def single_node(revision: Revision) -> DriverSettings:
    """Local disks: one node at a time, no attaching, a pool on each node, thick."""
    settings = default(revision).without("PUBLISH_UNPUBLISH_VOLUME", *_GROUP_AND_METADATA)
    return attrs.evolve(
        settings,
        modes=_SINGLE_NODE,
        zones=tuple(f"node-{index}" for index in range(8)),
        nodes_per_zone=1,
        pool_per_zone=True,
        granule=4 << 20,
        minimum=4 << 20,
    )


def no_attach(revision: Revision) -> DriverSettings:
    """A network file system: no attaching, no staging, shared by all, of no known size."""
    dropped = ("PUBLISH_UNPUBLISH_VOLUME", "STAGE_UNSTAGE_VOLUME", "GET_CAPACITY")
    settings = default(revision).without(*dropped, *_GROUP_AND_METADATA, *_TOPOLOGY)
    return attrs.evolve(
        settings, access_types=frozenset({"mount"}), report_capacity=False, attach_limit=0
    )


def snapshot_free(revision: Revision) -> DriverSettings:
    """No snapshots, no groups, no clones."""
    return default(revision).without("CREATE_DELETE_SNAPSHOT", "CLONE_VOLUME")


def late_snapshots(revision: Revision) -> DriverSettings:
    """Snapshots are uploaded: taken at once, ready to use two seconds later."""
    return DriverSettings(revision=revision, snapshot_delay=2.0)


def offline_expansion(revision: Revision) -> DriverSettings:
    """Volumes grow only while they are not published, in whole GiB, with the controller alone."""
    settings = default(revision).without("expansion:ONLINE", "node:EXPAND_VOLUME")
    return attrs.evolve(settings, granule=GIB, minimum=GIB)


def transition(revision: Revision) -> DriverSettings:
    """A driver between two revisions: reports conditions as in 1.12 beside the health of 1.13."""
    settings = default(revision)
    both = {"VOLUME_CONDITION"}
    return attrs.evolve(
        settings, controller=settings.controller | both, node=settings.node | both, transition=True
    )


def csi_1_0_minimal(revision: Revision) -> DriverSettings:
    """What the first drivers had: create, delete, attach, publish."""
    return DriverSettings(
        revision=revision,
        plugin=frozenset({"CONTROLLER_SERVICE"}),
        expansion=frozenset(),
        controller=frozenset({"CREATE_DELETE_VOLUME", "PUBLISH_UNPUBLISH_VOLUME"}),
        group=frozenset(),
        node=frozenset(),
        modes=frozenset({AccessMode.SINGLE_NODE_WRITER}),
    )


PROFILES: Mapping[str, Profile] = {
    "default": default,
    "controller-only": controller_only,
    "node-only": node_only,
    "no-staging": no_staging,
    "read-only": read_only,
    "topology": topology,
    "zonal-snapshots": zonal_snapshots,
    "single-node": single_node,
    "no-attach": no_attach,
    "snapshot-free": snapshot_free,
    "late-snapshots": late_snapshots,
    "offline-expansion": offline_expansion,
    "transition": transition,
    "csi-1.0-minimal": csi_1_0_minimal,
}


def settings_of(profile: str, revision: Revision = "1.13") -> DriverSettings:
    """The settings of a profile by name; ValueError names those there are."""
    if profile not in PROFILES:
        raise ValueError(f"there is no profile {profile!r}; known are {', '.join(PROFILES)}")
    if revision not in ("1.12", "1.13"):
        raise ValueError(f"there is no revision {revision!r}; known are 1.12 and 1.13")
    return PROFILES[profile](revision)
