"""What a case needs of a CSI target; where it is not met, features.py gives the reason to skip."""

from __future__ import annotations

from conformance.csi.requests import Mode
from conformance.engine.needs import Feature, Since, Until, Without


def without(need: Feature) -> Without:
    """A capability that must not be advertised."""
    kind, _, name = need.name.partition(":")
    return Without(need.name, f"{kind} capability {name} is on")


def _mode(mode: Mode.Mode.ValueType) -> Feature:
    """Volumes of an access mode."""
    name = Mode.Mode.Name(mode)
    return Feature(f"mode:{name}", name)


CONTROLLER = Feature("service:controller", "controller service")
GROUP = Feature("service:group", "group service")
NODE = Feature("service:node", "node service")
REVISION_1_12 = Until("1.12", "revision 1.12")
REVISION_1_13 = Since("1.13")

TOPOLOGY = Feature("plugin:VOLUME_ACCESSIBILITY_CONSTRAINTS")
CONTROLLER_SERVICE = Feature("plugin:CONTROLLER_SERVICE")
GROUP_SERVICE = Feature("plugin:GROUP_CONTROLLER_SERVICE")
METADATA_SERVICE = Feature("plugin:SNAPSHOT_METADATA_SERVICE")
SNAPSHOT_TOPOLOGY = Feature("plugin:SNAPSHOT_ACCESSIBILITY_CONSTRAINTS")

CREATE_DELETE_VOLUME = Feature("controller:CREATE_DELETE_VOLUME")
PUBLISH_UNPUBLISH_VOLUME = Feature("controller:PUBLISH_UNPUBLISH_VOLUME")
PUBLISH_READONLY = Feature("controller:PUBLISH_READONLY")
LIST_VOLUMES = Feature("controller:LIST_VOLUMES")
LIST_PUBLISHED_NODES = Feature("controller:LIST_VOLUMES_PUBLISHED_NODES")
GET_CAPACITY = Feature("controller:GET_CAPACITY")
GET_VOLUME = Feature("controller:GET_VOLUME")
CREATE_DELETE_SNAPSHOT = Feature("controller:CREATE_DELETE_SNAPSHOT")
LIST_SNAPSHOTS = Feature("controller:LIST_SNAPSHOTS")
CLONE_VOLUME = Feature("controller:CLONE_VOLUME")
EXPAND_VOLUME = Feature("controller:EXPAND_VOLUME")
MODIFY_VOLUME = Feature("controller:MODIFY_VOLUME")
SINGLE_NODE_MULTI_WRITER = Feature("controller:SINGLE_NODE_MULTI_WRITER")
CONTROLLER_CONDITION = Feature("controller:VOLUME_CONDITION")
CONTROLLER_HEALTH = Feature("controller:GET_VOLUME_HEALTH")
LIST_HEALTH = Feature("controller:LIST_VOLUME_HEALTH")

STAGE_UNSTAGE_VOLUME = Feature("node:STAGE_UNSTAGE_VOLUME")
GET_VOLUME_STATS = Feature("node:GET_VOLUME_STATS")
NODE_EXPAND_VOLUME = Feature("node:EXPAND_VOLUME")
NODE_CONDITION = Feature("node:VOLUME_CONDITION")
NODE_SINGLE_NODE_MULTI_WRITER = Feature("node:SINGLE_NODE_MULTI_WRITER")
VOLUME_MOUNT_GROUP = Feature("node:VOLUME_MOUNT_GROUP")
NODE_HEALTH = Feature("node:GET_VOLUME_HEALTH")
STORAGE_HEALTH = Feature("node:GET_STORAGE_HEALTH")
CLOSED_RPC = Feature("closed RPC", "an RPC whose capability is off")
CONDITION_AND_HEALTH = Feature("condition and health")  # ... of 1.12 and 1.13, by one side

VOLUMES = Feature("volumes")  # the driver makes volumes, or the user named one
SAME_HOST = Feature("paths")  # the suite can make directories to stage and publish volumes in
FILES = Feature("files")  # ... and sees itself what the driver puts there
KINDS = Feature("kinds")  # ... or a command of the user tells what it is
DATA = Feature("data")  # what is written at a target lies on the volume
MOUNTS = Feature("mounts")  # the driver really mounts, and the suite sees the mounts
FILE_SYSTEMS = Feature("file systems")  # ... a file system of each volume's own
ROOT = Feature("root")
FUSE = Feature("fuse")  # ... and can make FUSE mounts
BLOCK = Feature("block")  # the driver makes block volumes
MOUNT = Feature("mount")  # the driver makes mount volumes
SHARING = Feature("sharing")  # a volume can be published at several targets of a node
MULTI_NODE_READER = _mode(Mode.MULTI_NODE_READER_ONLY)
MULTI_NODE_ONE_WRITER = _mode(Mode.MULTI_NODE_SINGLE_WRITER)
MULTI_NODE_WRITERS = _mode(Mode.MULTI_NODE_MULTI_WRITER)
SINGLE_NODE_READER = _mode(Mode.SINGLE_NODE_READER_ONLY)
SINGLE_NODE_WRITER = _mode(Mode.SINGLE_NODE_WRITER)
ONE_WRITER = _mode(Mode.SINGLE_NODE_SINGLE_WRITER)
WRITERS = _mode(Mode.SINGLE_NODE_MULTI_WRITER)
NODE_ID = Feature("node id")  # the controller can publish to a node
NODE_TOPOLOGY = Feature("node topology")  # the node tells where it is
PLACE = Feature("place")  # a place is known in which volumes can be made
MAXIMUM_SIZE = Feature("maximum size")  # GetCapacity tells it
MINIMUM_SIZE = Feature("minimum size")
BACKING = Feature("backing")  # the suite sees what volumes are made of
TWO_NODES = Feature("second node")  # the controller knows a second node
NEAR_NODES = Feature("near node")  # ... which can use the same volumes
TWO_NODE_ENDPOINTS = Feature("second endpoint")
TWO_ENDPOINTS = Feature("split endpoints")  # controller and node have an address each
SUPERVISED = Feature("command")  # the suite can start a driver of its own
ATTACH_LIMIT = Feature("attach limit")
SECRETS = Feature("secrets")
CREATE_SECRETS = Feature("create secrets")
OTHER_PARAMETERS = Feature("other parameters")
MUTABLE_PARAMETERS = Feature("mutable parameters")
OTHER_MUTABLE_PARAMETERS = Feature("other mutable parameters")
BREAKABLE = Feature("faults")  # a hook of the user, or our fake, breaks and repairs volumes
BREAKABLE_TWICE = Feature("several faults")  # ... in two ways at once
BREAKABLE_ON_NODE = Feature("node faults")  # ... for one node alone
BREAKABLE_STORAGE = Feature("storage faults")
HOLDABLE = Feature("holding")  # ... makes calls that work on a volume hang
BREAKABLE_DEPENDENCY = Feature("dependency faults")
EPHEMERAL = Feature("ephemeral")
