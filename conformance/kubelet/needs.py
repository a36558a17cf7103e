"""Needs of a client under test: releases by their name, and what it lacks for the suite."""

from __future__ import annotations

from conformance.engine.needs import Lacks, Since, Until
from conformance.kubelet.client import Ability, Client

__all__ = ["lacks_of", "since", "until"]


def since(release: str) -> Since:
    """A rule that holds from a release of Kubernetes on."""
    return Since(release, f"Kubernetes {release}")


def until(release: str) -> Until:
    """A rule that held up to a release of Kubernetes, that one included."""
    return Until(release, f"up to Kubernetes {release}")


def lacks_of(client: Client) -> Lacks:
    """Ability -> why the client has not got it, empty where it has."""
    return Lacks(
        {
            ability: "" if ability in client.able else f"{client.name} {reason}"
            for ability, reason in _REASONS.items()
        }
    )


_REASONS: dict[Ability, str] = {
    "plugins": "is not where plugins register",
    "pods": "runs no pods here",
    "capacity": "does not tell the capacity of its node",
    "configs": "does not show what it starts containers with",
    "clock": "lives in real time",
    "restart": "cannot be restarted here",
    "metrics": "shows no metrics",
    "checkpoint": "keeps no checkpoint that can be looked at",
    "numa": "has the NUMA nodes that it has",
    "gates": "has the feature gates that it has",
    "pod-resources": "serves no pod resources",
    "pods-api": "serves no pods-api socket",
    "watcher": "does not watch plugins_registry",
    "listener": "accepts at its sockets whatever happens (strace would make it fail)",
    "topology": "answers no questions about its topology manager",
    "claims": "knows no claims here",
    "cpus": "has no static CPU and memory policies here",
    "root-dir": "has the root directory that it has",
}
