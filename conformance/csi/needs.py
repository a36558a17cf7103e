"""What a case needs of a CSI target; not met means skipped, with the reason given here."""

from __future__ import annotations

import attrs

from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget


@attrs.frozen
class Offered:
    """A capability that has to be advertised."""

    capability: str

    def unmet(self, target: CsiTarget) -> str | None:
        """See Need."""
        kind, _, name = self.capability.partition(":")
        return None if self.capability in target.offers else f"{kind} capability {name} is off"


@attrs.frozen
class Absent:
    """A capability that must not be advertised."""

    capability: str

    def unmet(self, target: CsiTarget) -> str | None:
        """See Need."""
        kind, _, name = self.capability.partition(":")
        return f"{kind} capability {name} is on" if self.capability in target.offers else None


@attrs.frozen
class AnyOf:
    """At least one of several needs."""

    needs: tuple[Offered | Absent, ...]

    def unmet(self, target: CsiTarget) -> str | None:
        """See Need."""
        reasons = [need.unmet(target) for need in self.needs]
        return None if None in reasons else " and ".join(filter(None, reasons))


@attrs.frozen
class Service:
    """A service that has to be there: controller, group, node."""

    name: str

    def unmet(self, target: CsiTarget) -> str | None:
        """See Need."""
        return None if self.name in target.offers.services else f"no {self.name} service"


@attrs.frozen
class Revision:
    """The revision profile of the run."""

    name: str

    def unmet(self, target: CsiTarget) -> str | None:
        """See Need."""
        if target.revision.number == self.name:
            return None
        return f"a rule of CSI {self.name}; this run judges by {target.revision.number}"


@attrs.frozen
class Has:
    """Something about the surroundings, answered by a property of the target of that name: it holds
    an empty text, or the reason why it is lacking."""

    lacking: str

    def unmet(self, target: CsiTarget) -> str | None:
        """See Need."""
        reason: str = getattr(target, self.lacking)
        return reason or None


@attrs.frozen
class Makes:
    """Volumes of an access mode."""

    mode: Mode.Mode.ValueType

    @property
    def label(self) -> str:
        """The need in a word, for people."""
        return Mode.Mode.Name(self.mode)

    def unmet(self, target: CsiTarget) -> str | None:
        """See Need."""
        if target.makes(self.mode):
            return None
        return f"the driver makes no volumes for access mode {self.label}"


CONTROLLER, GROUP, NODE = Service("controller"), Service("group"), Service("node")
REVISION_1_12, REVISION_1_13 = Revision("1.12"), Revision("1.13")

TOPOLOGY = Offered("plugin:VOLUME_ACCESSIBILITY_CONSTRAINTS")
GROUP_SERVICE = Offered("plugin:GROUP_CONTROLLER_SERVICE")
METADATA_SERVICE = Offered("plugin:SNAPSHOT_METADATA_SERVICE")
SNAPSHOT_TOPOLOGY = Offered("plugin:SNAPSHOT_ACCESSIBILITY_CONSTRAINTS")

CREATE_DELETE_VOLUME = Offered("controller:CREATE_DELETE_VOLUME")
PUBLISH_UNPUBLISH_VOLUME = Offered("controller:PUBLISH_UNPUBLISH_VOLUME")
PUBLISH_READONLY = Offered("controller:PUBLISH_READONLY")
LIST_VOLUMES = Offered("controller:LIST_VOLUMES")
LIST_PUBLISHED_NODES = Offered("controller:LIST_VOLUMES_PUBLISHED_NODES")
GET_CAPACITY = Offered("controller:GET_CAPACITY")
GET_VOLUME = Offered("controller:GET_VOLUME")
CREATE_DELETE_SNAPSHOT = Offered("controller:CREATE_DELETE_SNAPSHOT")
LIST_SNAPSHOTS = Offered("controller:LIST_SNAPSHOTS")
CLONE_VOLUME = Offered("controller:CLONE_VOLUME")
EXPAND_VOLUME = Offered("controller:EXPAND_VOLUME")
MODIFY_VOLUME = Offered("controller:MODIFY_VOLUME")
SINGLE_NODE_MULTI_WRITER = Offered("controller:SINGLE_NODE_MULTI_WRITER")
CONTROLLER_CONDITION = Offered("controller:VOLUME_CONDITION")
CONTROLLER_HEALTH = Offered("controller:GET_VOLUME_HEALTH")
LIST_HEALTH = Offered("controller:LIST_VOLUME_HEALTH")

STAGE_UNSTAGE_VOLUME = Offered("node:STAGE_UNSTAGE_VOLUME")
GET_VOLUME_STATS = Offered("node:GET_VOLUME_STATS")
NODE_EXPAND_VOLUME = Offered("node:EXPAND_VOLUME")
NODE_CONDITION = Offered("node:VOLUME_CONDITION")
NODE_SINGLE_NODE_MULTI_WRITER = Offered("node:SINGLE_NODE_MULTI_WRITER")
VOLUME_MOUNT_GROUP = Offered("node:VOLUME_MOUNT_GROUP")
NODE_HEALTH = Offered("node:GET_VOLUME_HEALTH")
STORAGE_HEALTH = Offered("node:GET_STORAGE_HEALTH")

VOLUMES = Has("no_volumes")  # the driver makes volumes, or the user named one
SAME_HOST = Has(
    "no_paths"
)  # the suite can make the directories volumes are staged and published in
FILES = Has("no_files")  # ... and sees itself what the driver puts there
KINDS = Has("no_kinds")  # ... or a command of the user tells what it is
DATA = Has("no_data")  # what is written at a target lies on the volume
MOUNTS = Has("no_mounts")  # the driver really mounts, and the suite sees the mounts
FILE_SYSTEMS = Has("no_file_systems")  # ... a file system of each volume's own
ROOT = Has("no_root")
BLOCK = Has("no_block")  # the driver makes block volumes
MOUNT = Has("no_mount")  # the driver makes mount volumes
SHARING = Has("no_sharing")  # a volume can be published at several targets of a node
MULTI_NODE_READER = Makes(Mode.MULTI_NODE_READER_ONLY)
MULTI_NODE_ONE_WRITER = Makes(Mode.MULTI_NODE_SINGLE_WRITER)
MULTI_NODE_WRITERS = Makes(Mode.MULTI_NODE_MULTI_WRITER)
SINGLE_NODE_READER = Makes(Mode.SINGLE_NODE_READER_ONLY)
SINGLE_NODE_WRITER = Makes(Mode.SINGLE_NODE_WRITER)
ONE_WRITER = Makes(Mode.SINGLE_NODE_SINGLE_WRITER)
WRITERS = Makes(Mode.SINGLE_NODE_MULTI_WRITER)
NODE_ID = Has("no_node_id")  # the controller can publish to a node
NODE_TOPOLOGY = Has("no_node_topology")  # the node tells where it is
PLACE = Has("no_place")  # a place is known in which volumes can be made
MAXIMUM_SIZE = Has("no_maximum_size")  # GetCapacity tells it
MINIMUM_SIZE = Has("no_minimum_size")
BACKING = Has("no_backing")  # the suite sees what volumes are made of
TWO_NODES = Has("no_second_node")  # the controller knows a second node
NEAR_NODES = Has("no_near_node")  # ... which can use the same volumes
TWO_NODE_ENDPOINTS = Has("no_second_endpoint")
TWO_ENDPOINTS = Has("no_split_endpoints")  # controller and node have an address each
SUPERVISED = Has("no_command")  # the suite can start a driver of its own
ATTACH_LIMIT = Has("no_attach_limit")
SECRETS = Has("no_secrets")
CREATE_SECRETS = Has("no_create_secrets")
OTHER_PARAMETERS = Has("no_other_parameters")
MUTABLE_PARAMETERS = Has("no_mutable_parameters")
OTHER_MUTABLE_PARAMETERS = Has("no_other_mutable_parameters")
BREAKABLE = Has("no_faults")  # a hook of the user, or our fake, breaks and repairs volumes
BREAKABLE_TWICE = Has("no_several_faults")  # ... in two ways at once
BREAKABLE_ON_NODE = Has("no_node_faults")  # ... for one node alone
BREAKABLE_STORAGE = Has("no_storage_faults")
HOLDABLE = Has("no_holding")  # ... makes calls that work on a volume hang
BREAKABLE_DEPENDENCY = Has("no_dependency_faults")
EPHEMERAL = Has("no_ephemeral")
