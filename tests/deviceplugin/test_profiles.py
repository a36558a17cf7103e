"""Releases and their choices."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.deviceplugin.profiles import (
    PROFILES,
    RELEASES,
    policy_options,
    settings_of,
    stage,
)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_has_settings(profile: str) -> None:
    """A release knows its own name; the others stand on the newest."""
    assert settings_of(profile).release == (profile if profile in RELEASES else "1.37")


@pytest.mark.parametrize(
    ("release", "endpoints", "nodes", "pods"),
    [
        ("1.27", "single", "machine", "all"),
        ("1.33", "single", "machine", "all"),
        ("1.34", "single", "machine", "active"),
        ("1.35", "single", "machine", "active"),
        ("1.36", "single", "bearing", "active"),
        ("1.37", "multi", "bearing", "active"),
    ],
)
def test_releases_differ_where_they_did(
    release: str, endpoints: str, nodes: str, pods: str
) -> None:
    """The three turns that a client notices."""
    settings = settings_of(release)
    assert (settings.endpoints, settings.hint_nodes, settings.list_pods) == (endpoints, nodes, pods)


@pytest.mark.parametrize("release", RELEASES)
def test_a_profile_of_no_release_may_be_of_any(release: str) -> None:
    """It has what the release brought, and differs from it by itself."""
    ideal, named = settings_of("ideal", release=release), settings_of(release)
    assert (ideal.release, ideal.gates) == (release, named.gates)
    assert (ideal.endpoints, ideal.leaks) == (named.endpoints, False)
    assert settings_of("1.30", release=release).release == "1.30"


@pytest.mark.parametrize(
    ("gate", "release", "wanted"),
    [
        ("PodsAPI", "1.35", "gone"),
        ("PodsAPI", "1.36", "off"),
        ("PodsAPI", "1.37", "on"),
        ("DRAExtendedResource", "1.37", "locked"),
        ("KubeletPodResourcesGet", "1.33", "off"),
        ("ResourceHealthStatus", "1.37", "on"),
        ("PodLevelResourceManagers", "1.37", "off"),
    ],
)
def test_gates_change_from_release_to_release(gate: str, release: str, wanted: str) -> None:
    """Each from the release in which it did."""
    assert stage(gate, release) == wanted
    assert (gate in settings_of(release).gates) == (wanted in ("on", "locked"))


def test_gates_can_be_switched() -> None:
    """Which pods are listed follows from one."""
    on = settings_of("1.37", {"PodLevelResourceManagers": True, "PodsAPI": False})
    assert "PodLevelResourceManagers" in on.gates
    assert "PodsAPI" not in on.gates
    assert settings_of("1.37", {"KubeletPodResourcesListUseActivePods": False}).list_pods == "all"
    assert "DRAExtendedResource" in settings_of("1.37", {"DRAExtendedResource": True}).gates


@pytest.mark.parametrize(
    ("profile", "gates", "text"),
    [
        ("1.26", {}, "no profile '1.26'; known are 1.27"),
        ("1.37", {"Odd": True}, "no gate 'Odd'; known are"),
        ("1.27", {"PodsAPI": True}, "1.27 has no gate PodsAPI"),
        ("1.37", {"DRAExtendedResource": False}, "locked in 1.37"),
    ],
)
def test_what_does_not_exist_is_named(profile: str, gates: dict[str, Any], text: str) -> None:
    """With what there is instead."""
    with pytest.raises(ValueError, match=text):
        settings_of(profile, gates)


def test_policy_options_come_one_by_one() -> None:
    """Without a gate of their own."""
    assert policy_options("1.27") == frozenset()
    assert policy_options("1.30") == {"prefer-closest-numa-nodes"}
    assert "max-allowable-numa-nodes" in policy_options("1.31")
