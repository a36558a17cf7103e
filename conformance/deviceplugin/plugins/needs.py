"""What cases need of a plugin under test; a need says why a case is skipped."""

from __future__ import annotations

from typing import Any

import attrs

__all__ = [
    "BREAKABLE",
    "EMPTY",
    "MEASURABLE",
    "MENDABLE",
    "NO_PREFERENCE",
    "NO_PRE_START",
    "PLUGGABLE",
    "PREFERS",
    "PRE_STARTS",
    "PUSHES",
    "SOURCE",
    "UNPLUGGABLE",
]


@attrs.frozen
class Hooked:
    """A hook of the user, or our fake, changes what the node has."""

    hook: str
    label: str

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        if target.plugin_side.hooked(self.hook):
            return None
        return f"hooks.{self.hook} names no command: {self.label}"


@attrs.frozen
class Pushes:
    """The plugin calls Register, rather than being found in plugins_registry."""

    label: str = "calls Register"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        if target.plugin_side.only_pulled:
            return "it does not call Register: kubelet finds it in plugins_registry"
        return None


@attrs.frozen
class Advertised:
    """An option that GetDevicePluginOptions says."""

    option: str
    label: str
    absent: bool = False

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        said = target.plugin_side.advertised(self.option)
        if said is None or said != self.absent:
            return None  # of one that cannot be asked the case tells more
        return f"the plugin says {self.option} = {str(said).lower()}"


@attrs.frozen
class Empty:
    """The plugin can be started on a node without its devices."""

    label: str = "a node without devices"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        if target.plugin_side.can_be_empty:
            return None
        return "empty_command names no command that starts it without devices"


@attrs.frozen
class Measurable:
    """Descriptors, threads and memory of the plugin can be counted."""

    label: str = "/proc"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        return None if target.plugin_side.measurable else "processes cannot be looked at: no /proc"


BREAKABLE = Hooked("break_device", "a device that fails")
MENDABLE = Hooked("mend_device", "a device that recovers")
PLUGGABLE = Hooked("add_device", "a device that is plugged in")
UNPLUGGABLE = Hooked("remove_device", "a device that is pulled out")
SOURCE = Hooked("break_source", "the source of the list of devices fails")
EMPTY = Empty()
MEASURABLE = Measurable()
PUSHES = Pushes()
PREFERS = Advertised("get_preferred_allocation_available", "GetPreferredAllocation")
NO_PREFERENCE = Advertised(PREFERS.option, "no GetPreferredAllocation", absent=True)
PRE_STARTS = Advertised("pre_start_required", "PreStartContainer")
NO_PRE_START = Advertised(PRE_STARTS.option, "no PreStartContainer", absent=True)
