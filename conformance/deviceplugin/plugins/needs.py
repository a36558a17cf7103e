"""What cases need of a plugin under test. Why one has not got it, `capabilities` tells."""

from __future__ import annotations

from conformance.engine.needs import Feature

__all__ = [
    "BREAKABLE",
    "DEEP_FOLDER",
    "EMPTY",
    "FOUND",
    "GIVES_ANNOTATIONS",
    "GIVES_CDI",
    "GIVES_DEVICES",
    "GIVES_ENVS",
    "GIVES_MOUNTS",
    "MEASURABLE",
    "MENDABLE",
    "NO_PREFERENCE",
    "NO_PRE_START",
    "ONE_DEVICE",
    "PLUGGABLE",
    "PREFERS",
    "PRE_STARTS",
    "PUSHES",
    "SEVERAL_ENDPOINTS",
    "SEVERAL_RESOURCES",
    "SOURCE",
    "TWO_DEVICES",
    "UNHEALTHY",
    "UNPLUGGABLE",
]

# Hooks of the user change what the node has, or our fake does.
BREAKABLE = Feature("break_device", "a device that fails")
MENDABLE = Feature("mend_device", "a device that recovers")
PLUGGABLE = Feature("add_device", "a device that is plugged in")
UNPLUGGABLE = Feature("remove_device", "a device that is pulled out")
SOURCE = Feature("break_source", "the source of the list of devices fails")

# How it is started, and how it comes to kubelet.
EMPTY = Feature("a node without devices")
MEASURABLE = Feature("/proc")
PUSHES = Feature("calls Register")
FOUND = Feature("a socket in plugins_registry")
DEEP_FOLDER = Feature("a folder with a long path")
SEVERAL_ENDPOINTS = Feature("kubelet 1.37 or later")
SEVERAL_RESOURCES = Feature("several resources")

# Its options. One that cannot be asked lacks neither: of it the case tells more.
PREFERS = Feature("GetPreferredAllocation")
NO_PREFERENCE = Feature("no GetPreferredAllocation")
PRE_STARTS = Feature("PreStartContainer")
NO_PRE_START = Feature("no PreStartContainer")

# Its devices, and what its answers for them have, as fields of ContainerAllocateResponse.
ONE_DEVICE = Feature("a device")
TWO_DEVICES = Feature("2 devices")
UNHEALTHY = Feature("a device that is not healthy")
GIVES_DEVICES = Feature("devices", "device files in its answers")
GIVES_MOUNTS = Feature("mounts", "mounts in its answers")
GIVES_ENVS = Feature("envs", "variables in its answers")
GIVES_ANNOTATIONS = Feature("annotations", "annotations in its answers")
GIVES_CDI = Feature("cdi_devices", "CDI devices in its answers")
