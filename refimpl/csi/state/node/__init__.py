"""The node side of a driver: staging, publishing, statistics, expansion and health on one node."""

from refimpl.csi.state.node.places import contents, places
from refimpl.csi.state.node.requests import Expand, Publish, Stage
from refimpl.csi.state.node.service import NodeInfo, NodeState, Stats

__all__ = ["Expand", "NodeInfo", "NodeState", "Publish", "Stage", "Stats", "contents", "places"]
