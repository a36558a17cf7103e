"""The node side of a driver: staging, publishing, statistics, expansion and health on one node."""

from refimpl.csi.state.node.places import contents, places
from refimpl.csi.state.node.requests import ExpandRequest, PublishRequest, StageRequest
from refimpl.csi.state.node.service import NodeInfo, NodeState, VolumeStats

__all__ = [
    "ExpandRequest",
    "NodeInfo",
    "NodeState",
    "PublishRequest",
    "StageRequest",
    "VolumeStats",
    "contents",
    "places",
]
