"""The choices of one driver: what it advertises, accepts, and does where the rules leave room.

The default advertises all that its revision knows, and answers exact sizes. Sizes are bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

import attrs

from refimpl.csi.state.capabilities import (
    IMPLICATIONS,
    NUMBERS,
    PREREQUISITES,
    SINCE_1_13,
    UNTIL_1_12,
    CapabilityGroup,
    Implication,
    Name,
    Revision,
    everything,
)
from refimpl.csi.state.models import Access, AccessMode
from refimpl.csi.state.options import parsed
from refimpl.wire.status import Code, Refused

GIB = 1 << 30
TIB = 1 << 40
ALL_MODES = frozenset(mode for mode in AccessMode if mode != AccessMode.UNKNOWN)
# Known only to a side that advertises SINGLE_NODE_MULTI_WRITER.
_FINE_MODES = {AccessMode.SINGLE_NODE_SINGLE_WRITER, AccessMode.SINGLE_NODE_MULTI_WRITER}
_GROUPS: tuple[CapabilityGroup, ...] = ("plugin", "expansion", "controller", "group", "node")


def _all(group: CapabilityGroup) -> frozenset[str]:
    return attrs.Factory(lambda self: everything(group, self.revision), takes_self=True)


@attrs.frozen(kw_only=True)
class DriverSettings:
    """One driver's choices. Raises ValueError for a set of capabilities the specification forbids
    (CSI 1.13, implications of the capability comments) or a name the revision does not know."""

    revision: Revision = "1.13"
    driver_name: str = "csi.refimpl.example"
    vendor_version: str = "1.0.0"
    manifest: Mapping[str, str] = attrs.field(factory=dict)

    plugin: frozenset[str] = _all("plugin")
    expansion: frozenset[str] = _all("expansion")
    controller: frozenset[str] = _all("controller")
    group: frozenset[str] = _all("group")
    node: frozenset[str] = _all("node")
    transition: bool = False
    """True: VOLUME_CONDITION of 1.12 may stand beside the health of 1.13, for callers of both."""
    node_service: bool = True
    """False: a driver whose node half runs elsewhere; Node RPCs answer UNIMPLEMENTED."""

    modes: frozenset[AccessMode] = ALL_MODES
    access_types: frozenset[Access] = frozenset({"mount", "block"})
    fs_types: frozenset[str] = frozenset({"ext3", "ext4", "xfs", "btrfs"})
    """File systems accepted by name; the first of `default_fs` stands for "" in a request."""
    default_fs: str = "ext4"

    granule: int = 1
    """Sizes are multiples of it."""
    sector: int = 512
    """Sizes of block volumes are multiples of this as well, if it is larger."""
    minimum: int = 4096
    maximum: int = 16 * TIB
    """Largest volume; 0 = bounded by the pool only, and not reported."""
    default_size: int = GIB
    """Of a volume created without capacity_range."""
    report_capacity: bool = True
    """False: capacity_bytes of volumes is 0, which means unknown."""
    pool_parameter: str = "kind"
    pools: Mapping[str, int] = attrs.field(factory=lambda: {"default": 64 * TIB, "fast": 8 * TIB})
    """Size of each pool by value of `pool_parameter`; the first one serves requests without it."""
    pool_per_zone: bool = False
    """True: every zone has pools of its own, of the sizes given."""
    charge_snapshots: bool = True

    attach_limit: int = 64
    """Volumes attached to one node, as max_volumes_per_node tells; 0 = no limit."""
    require_attachment: bool = True
    """Stage and publish only what the controller has attached to the node (with
    PUBLISH_UNPUBLISH_VOLUME); publish_context itself is never looked into."""
    zones: tuple[str, ...] = ("zone-a", "zone-b")
    topology_key: str = "topology.csi.refimpl.example/zone"
    nodes_per_zone: int = 2
    """node-0 and node-1 lie in the first zone, node-2 and node-3 in the second, and so on."""
    volume_zones: int = 1
    """In how many zones a volume is usable (x in the rule of CreateVolume)."""
    snapshot_zones: Literal["everywhere", "source"] = "everywhere"
    """Where a snapshot can be restored; "source" returns accessible_topology."""

    accepted_parameters: frozenset[str] | None = None
    """Keys of CreateVolume parameters; None = any."""
    mutable: Mapping[str, str] = attrs.field(
        factory=lambda: {"iops": r"[1-9][0-9]{0,5}", "tier": "gold|silver|bronze"}
    )
    """Keys of mutable_parameters and the pattern of their values."""
    secrets: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    """RPC name -> secrets it must be sent: a missing one is INVALID_ARGUMENT, a wrong one
    UNAUTHENTICATED."""
    context: Mapping[str, str] = attrs.field(factory=dict)
    """Further entries of every volume_context."""

    snapshot_delay: float = 0.0
    """Seconds between cut and ready_to_use."""
    delete_with_snapshots: Literal["allow", "refuse"] = "allow"
    delete_with_copies: Literal["allow", "refuse"] = "allow"
    """Whether the source of clones and restored volumes may be deleted before them."""
    delete_member: Literal["allow", "refuse"] = "refuse"
    """Whether DeleteSnapshot removes one snapshot out of a group."""
    detach_in_use: Literal["allow", "refuse"] = "refuse"
    """Whether ControllerUnpublishVolume detaches what is still staged or published on the node."""
    group_scope: Literal["any", "pool"] = "pool"
    """Which volumes can be cut at one moment: all, or those of one pool."""
    pending: Literal["queue", "abort"] = "queue"
    """What a call meets while another one works on the same volume."""

    page_entries: int = 0
    """Most entries of a page whatever the caller asks; 0 = as many as fit into `page_bytes`."""
    page_bytes: int = 3 << 20
    tokens: Literal["opaque", "index", "generation"] = "opaque"
    """"generation": a token dies with the first change of the list."""
    ids: Literal["uuid", "name", "hash", "long"] = "uuid"

    metadata_type: Literal["VARIABLE_LENGTH", "FIXED_LENGTH"] = "VARIABLE_LENGTH"
    metadata_block: int = 4096
    metadata_batch: int = 256
    """Entries of one message if the caller sets no max_results."""
    changed_blocks: bool = True
    """False: changed block tracking is off, GetMetadataDelta is FAILED_PRECONDITION."""

    ready_after: float = 0.0
    """Seconds after the start until Probe says ready."""
    ephemeral: bool = False
    """NodePublishVolume makes inline volumes."""
    preprovisioned: tuple[str, ...] = ()
    """Ids of volumes that exist from the start, of default_size and for every mode."""

    refusals: Mapping[str, str] = attrs.field(init=False, eq=False, repr=False)
    """RPC -> why it is not offered; an offered one is absent."""
    controller_modes: frozenset[AccessMode] = attrs.field(init=False, eq=False, repr=False)
    node_modes: frozenset[AccessMode] = attrs.field(init=False, eq=False, repr=False)
    mutable_patterns: Mapping[str, re.Pattern[str]] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        problems = [*self._unknown_names(), *self._broken_implications(), *self._bad_values()]
        if problems:
            raise ValueError(f"settings of driver {self.driver_name!r}: " + "; ".join(problems))
        patterns = {key: re.compile(value) for key, value in self.mutable.items()}
        object.__setattr__(self, "mutable_patterns", patterns)
        object.__setattr__(self, "controller_modes", self._modes(self.controller))
        object.__setattr__(self, "node_modes", self._modes(self.node))
        refusals = {rpc: why for rpc in PREREQUISITES if (why := self._refusal(rpc))}
        object.__setattr__(self, "refusals", refusals)

    def has(self, group: CapabilityGroup, name: str) -> bool:
        """True if `name` is advertised in `group`."""
        names: frozenset[str] = getattr(self, group)
        return name in names

    def demand(self, rpc: str) -> None:
        """Raise Refused(UNIMPLEMENTED) if what opens `rpc` is not advertised."""
        if rpc in self.refusals:
            raise Refused(Code.UNIMPLEMENTED, self.refusals[rpc])

    def without(self, *names: str) -> Self:
        """The same driver without capabilities, given as "CLONE_VOLUME" (wherever advertised) or
        "node:EXPAND_VOLUME", and without what cannot stand without them. ValueError if unknown."""
        sets = {group: set(getattr(self, group)) for group in _GROUPS}
        for name in names:
            for group, bare in _named(name):
                sets[group].discard(bare)
        while broken := [rule for rule in IMPLICATIONS if _broken(rule, sets)]:
            for rule in broken:
                sets[rule.name[0]].discard(rule.name[1])
        remaining: dict[str, Any] = {
            group: frozenset(names_left) for group, names_left in sets.items()
        }
        return attrs.evolve(self, **remaining)

    def with_(self, **changes: object) -> Self:
        """The same driver with other values; strings are read as `--set` gives them."""
        return attrs.evolve(self, **parsed(type(self), changes))

    def _modes(self, names: frozenset[str]) -> frozenset[AccessMode]:
        fine = "SINGLE_NODE_MULTI_WRITER" in names
        return self.modes if fine else self.modes - _FINE_MODES

    def _advertised(self) -> dict[CapabilityGroup, set[str]]:
        return {group: set(getattr(self, group)) for group in _GROUPS}

    def _unknown_names(self) -> Iterable[str]:
        older = frozenset() if self.transition else UNTIL_1_12
        strange = older if self.revision == "1.13" else SINCE_1_13
        for group, names in self._advertised().items():
            for name in sorted(names):
                if name not in NUMBERS[group] or (group, name) in strange:
                    yield f"{group} capability {name} does not exist in CSI {self.revision}"

    def _broken_implications(self) -> Iterable[str]:
        sets = self._advertised()
        for rule in IMPLICATIONS:
            if rule.required and _broken(rule, sets):
                needed = " or ".join(f"{group} {name}" for group, name in rule.one_of)
                yield f"{rule.name[0]} capability {rule.name[1]} must not be without {needed}"

    def _bad_values(self) -> Iterable[str]:
        topology = {name for name in self.plugin if name.endswith("ACCESSIBILITY_CONSTRAINTS")}
        if topology and not self.zones:
            yield f"plugin capability {min(topology)} needs at least one of zones"
        if not self.pools:
            yield "pools names none"
        for name in ("granule", "sector", "nodes_per_zone", "volume_zones", "metadata_block"):
            if getattr(self, name) < 1:
                yield f"{name} is {getattr(self, name)}, at least 1 is needed"

    def _refusal(self, rpc: str) -> str:
        prerequisite = PREREQUISITES[rpc]
        if prerequisite.since > self.revision:
            return f"{rpc} was called, but this driver speaks CSI {self.revision}, without it"
        if prerequisite.service == "NODE" and not self.node_service:
            return f"{rpc} was called, but this driver has no Node service at this address"
        if prerequisite.service not in ("", "NODE") and prerequisite.service not in self.plugin:
            return (
                f"{rpc} was called, but plugin capability {prerequisite.service} is not advertised"
            )
        if not prerequisite.names or any(
            self.has(group, name) for group, name in prerequisite.names
        ):
            return ""
        group, name = prerequisite.names[0]
        return f"{rpc} was called, but {group} capability {name} is not advertised"


def _named(text: str) -> list[Name]:
    group, _, bare = text.rpartition(":")
    matches: list[Name] = [
        (group_name, bare)
        for group_name in _GROUPS
        if bare in NUMBERS[group_name] and group in ("", group_name)
    ]
    if not matches:
        raise ValueError(f"no capability {text!r}; name it as CLONE_VOLUME or node:EXPAND_VOLUME")
    return matches


def _broken(rule: Implication, sets: Mapping[CapabilityGroup, set[str]]) -> bool:
    group, bare = rule.name
    return bare in sets[group] and not any(needed in sets[kind] for kind, needed in rule.one_of)
