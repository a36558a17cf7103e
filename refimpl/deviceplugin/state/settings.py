"""The choices in which kubelets differ, release by release: one frozen record of them."""

from __future__ import annotations

from typing import Literal

import attrs

SUPPORTED_VERSIONS = ("v1beta1",)
DIAL_S = 10.0
PRE_START_S = 30.0
GRACE_S = 300.0
"""How long a resource outlives its last plugin, in seconds."""


@attrs.frozen
class Settings:
    """One kubelet. The defaults are those of 1.37; `refimpl.deviceplugin.profiles` names others."""

    release: str = "1.37"

    endpoints: Literal["single", "multi"] = "multi"
    """single: one slot a resource, and the end of any of its streams empties it. multi: one slot
    for each socket, and devices are lost with the last of them."""
    same_socket: Literal["refuse", "dedup"] = "refuse"
    """Of multi: what a second Register of a pair in use meets: a refusal after the dial, or success
    without one."""
    failed_register_forgets: bool = True
    """A Register that fails makes the end of an older connection of its slot go unnoticed."""

    dial_in_handler: bool = True
    """False (1.24 and older): Register answers first, dialling is done behind its back, and the
    options are those of the request."""
    listens_again: bool = False
    """A listening socket that breaks is made anew; else nobody registers until a restart."""
    deprecation_file: bool = False
    """Old kubelets put an empty file DEPRECATION beside their socket; some plugins heed it."""

    hint_nodes: Literal["machine", "bearing"] = "bearing"
    """Which NUMA nodes hints combine: all, or those with devices of the resource."""
    refresh_by: Literal["resource", "id"] = "resource"
    """How the pod of a device that changed is found; id: the first that holds one of that name."""

    list_pods: Literal["active", "all"] = "active"
    """Which pods List of pod resources v1 shows; v1alpha1 shows all of them in every release."""
    gates: frozenset[str] = frozenset()
    """Feature gates that are on."""

    leaks: bool = True
    """Devices picked for a call that failed in an unusual way stay in use: until the next pod that
    leaves frees its own."""
    excuses_finished_init: bool = False
    """After a restart of kubelet, a finished init container of a running pod is not judged."""
    trusts_checkpoint: bool = False
    """Proposed, never merged: on the same boot, records are believed without a healthy plugin, and
    the container waits for the plugin."""
    vanished_device_kills: bool = False
    """1.37.2 dies if a device leaves the list while Allocate for it is under way. Off unless asked
    for: `allocate.Died` is raised then."""
