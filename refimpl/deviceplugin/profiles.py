"""Named kubelets: one for each release from 1.27 to 1.37, and a few that no release is.

`endpoints` and `hint_nodes` are as read in 1.36.0 and 1.37.2. `main` is what development code of
mid 2026 does, `boot-id` a proposal that was not merged, `ideal` a kubelet without the quirks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from refimpl.deviceplugin.state.settings import PRE_START_S, Settings

__all__ = [
    "GATES",
    "POLICY_OPTIONS",
    "PRE_START_S",
    "PROFILES",
    "RELEASES",
    "Settings",
    "Stage",
    "policy_options",
    "settings_of",
    "stage",
]

Stage = Literal["off", "on", "locked", "gone"]
RELEASES = tuple(f"1.{minor}" for minor in range(27, 38))
POLICY_OPTIONS: Mapping[str, int] = {
    "prefer-closest-numa-nodes": 28,
    "max-allowable-numa-nodes": 31,
}
"""Option of the topology manager -> minor release since which it can be used without a gate."""

GATES: Mapping[str, tuple[tuple[int, Stage], ...]] = {
    "DevicePluginCDIDevices": ((28, "off"), (29, "on"), (31, "locked")),
    "DRAExtendedResource": ((34, "off"), (36, "on"), (37, "locked")),
    "KubeletPodResourcesDynamicResources": ((27, "off"), (34, "on"), (36, "locked")),
    "KubeletPodResourcesGet": ((27, "off"), (34, "on"), (36, "locked")),
    "KubeletPodResourcesListUseActivePods": ((34, "on"),),
    "PodLevelResourceManagers": ((36, "off"),),
    "PodsAPI": ((36, "off"), (37, "on")),
    "ResourceHealthStatus": ((31, "off"), (36, "on")),
    "ResourceHealthStatusMessage": ((36, "on"),),
}
"""Gate -> (minor release, what it is from then on); before the first the gate does not exist.
Defaults only: a gate that is not locked can be switched."""

_SINGLE = {"endpoints": "single", "refresh_by": "id"}
_CHOICES: Mapping[str, Mapping[str, Any]] = {
    **{release: {**_SINGLE, "hint_nodes": "machine"} for release in RELEASES[:9]},
    "1.36": _SINGLE,
    "1.37": {},
    "main": {"same_socket": "dedup", "listens_again": True},
    "boot-id": {"trusts_checkpoint": True},
    "ideal": {
        "failed_register_forgets": False,
        "leaks": False,
        "refresh_by": "resource",
        "excuses_finished_init": True,
    },
}
"""Profile -> where it differs from 1.37."""
PROFILES = tuple(_CHOICES)


def settings_of(
    profile: str = "1.37", gates: Mapping[str, bool] | None = None, *, release: str = ""
) -> Settings:
    """The settings of a profile, with gates switched as given. `release`: of a profile that is none
    itself, such as ideal; the newest when empty. ValueError names the profiles there are, and gates
    that the release does not know or does not let be switched."""
    if profile not in _CHOICES:
        raise ValueError(f"there is no profile {profile!r}; known are {', '.join(PROFILES)}")
    release = profile if profile in RELEASES else release or RELEASES[-1]
    on = _gates(release, gates or {})
    lists_active = "KubeletPodResourcesListUseActivePods" in on
    base = Settings(release=release, gates=on, list_pods="active" if lists_active else "all")
    return attrs.evolve(base, **{**_CHOICES[release], **_CHOICES[profile]})


def stage(gate: str, release: str) -> Stage:
    """What a gate is in a release, such as "1.36"; ValueError for a gate that is not listed."""
    if gate not in GATES:
        raise ValueError(f"there is no gate {gate!r}; known are {', '.join(GATES)}")
    minor = int(release.partition(".")[2])
    current: Stage = "gone"
    for since, becomes in GATES[gate]:
        if since <= minor:
            current = becomes
    return current


def policy_options(release: str) -> frozenset[str]:
    """The options of the topology manager that a release lets be set as it comes."""
    minor = int(release.partition(".")[2])
    return frozenset(name for name, since in POLICY_OPTIONS.items() if since <= minor)


def _gates(release: str, switched: Mapping[str, bool]) -> frozenset[str]:
    default = {gate for gate in GATES if stage(gate, release) in ("on", "locked")}
    for gate, value in switched.items():
        if stage(gate, release) == "gone":
            raise ValueError(f"{release} has no gate {gate}")
        if stage(gate, release) == "locked" and not value:
            raise ValueError(f"gate {gate} is locked in {release}; it cannot be switched off")
    wanted = {gate for gate, value in switched.items() if value}
    return frozenset((default | wanted) - {gate for gate, value in switched.items() if not value})
