"""What a case needs of a client under test; a need says why a case is skipped."""

from __future__ import annotations

from typing import Any

import attrs

from conformance.kubelet.client import Ability

__all__ = ["Able", "From", "Until", "minor"]


@attrs.frozen
class Able:
    """Something that the client can do for the suite."""

    label: Ability

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        client = target.client
        return None if self.label in client.able else f"{client.name} {_LACKS[self.label]}"


@attrs.frozen
class From:
    """A rule that holds from a release of Kubernetes on."""

    release: str

    @property
    def label(self) -> str:
        """The need in a word."""
        return f"Kubernetes {self.release}"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        if minor(target.client.profile) >= minor(self.release):
            return None
        return f"a rule from Kubernetes {self.release} on; this is {target.client.profile}"


@attrs.frozen
class Until:
    """A rule that held up to a release, that one included."""

    release: str

    @property
    def label(self) -> str:
        """The need in a word."""
        return f"up to Kubernetes {self.release}"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        if minor(target.client.profile) <= minor(self.release):
            return None
        return f"a rule up to Kubernetes {self.release}; this is {target.client.profile}"


def minor(release: str) -> int:
    """37 of 1.37."""
    return int(release.partition(".")[2])


_LACKS: dict[Ability, str] = {
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
