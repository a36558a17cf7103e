"""Where the fake kubelet can be bent as it tells what pods hold."""

from __future__ import annotations

from refimpl.deviceplugin.devicemanager import podresources
from refimpl.deviceplugin.devicemanager.podresources import (
    Limiter,
    PodResources,
    PodResourcesAlpha,
    RequestCounts,
)
from refimpl.deviceplugin.devicemanager.podsapi import PodsService
from refimpl.deviceplugin.state import listing
from refimpl.wire.seam import Seam

TAKE_TURN = Seam.of(Limiter.take)
GET = Seam.of(PodResources.Get)
GET_ALLOCATABLE = Seam.of(PodResources.GetAllocatableResources)
LIST = Seam.of(PodResources.List)
CONTAINER = Seam.of(PodResources._container)
POD = Seam.of(PodResources._pod)
LIST_ALPHA = Seam.of(PodResourcesAlpha.List)
COUNT = Seam.of(RequestCounts.request)
DEVICES = Seam.of(podresources._devices)
GET_POD = Seam.of(PodsService.GetPod)
WATCH_PODS = Seam.of(PodsService.WatchPods)
NODES = Seam.of(listing._nodes)
ALLOCATABLE = Seam.of(listing.allocatable)
ASSIGNED = Seam.of(listing.assigned)
SHOWN = Seam.of(listing.shown)
