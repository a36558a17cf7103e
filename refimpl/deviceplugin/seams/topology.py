"""Where the fake kubelet can be bent as it places devices: hints, their merge, selection."""

from __future__ import annotations

from refimpl.deviceplugin.state import admission, hints, merge, select
from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.merge import Policy
from refimpl.wire.seam import Seam

RESOURCE_HINTS = Seam.of(hints.resource_hints, admission, hints)
GENERATE_HINTS = Seam.of(hints.generate)
BEST = Seam.of(Policy._best)
RANK = Seam.of(Policy._rank)
SPREAD = Seam.of(Policy._spread)
MERGE = Seam.of(Policy.merge)
CHECK_NODES = Seam.of(merge._check_nodes)
JOIN = Seam.of(merge._joined)
FLATTEN = Seam.of(merge.flatten)
SPLIT = Seam.of(select.split)
PLACED = Seam.of(Devices.placed)
