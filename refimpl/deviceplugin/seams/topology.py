"""Where the fake kubelet can be bent as it places devices: hints, their merge, selection."""

from __future__ import annotations

from refimpl.deviceplugin.state import admission, hints, merge, select
from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.merge import TopologyPolicy
from refimpl.wire.seam import Seam

RESOURCE_HINTS = Seam.of(hints.resource_hints, admission, hints)
GENERATE_HINTS = Seam.of(hints.generate)
BEST = Seam.of(TopologyPolicy._best)
RANK = Seam.of(TopologyPolicy._rank)
SPREAD = Seam.of(TopologyPolicy._spread)
MERGE = Seam.of(TopologyPolicy.merge)
CHECK_NODES = Seam.of(merge._check_nodes)
JOIN = Seam.of(merge._joined)
FLATTEN = Seam.of(merge.flatten)
SPLIT = Seam.of(select.split)
PLACED = Seam.of(Devices.placed)
