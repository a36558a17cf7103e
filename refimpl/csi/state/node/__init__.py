"""The node side of a driver: staging, publishing, statistics, expansion and health on one node."""

from refimpl.csi.state.node.paths import owned_keys, volume_paths
from refimpl.csi.state.node.requests import ExpandRequest, PublishRequest, StageRequest
from refimpl.csi.state.node.service import NodeInfo, NodeState, VolumeStats

__all__ = [
    "ExpandRequest",
    "NodeInfo",
    "NodeState",
    "PublishRequest",
    "StageRequest",
    "VolumeStats",
    "owned_keys",
    "volume_paths",
]
