"""What CDI cases need of a target; a need says why a case is skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from conformance.cdi import implementation

if TYPE_CHECKING:
    from conformance.cdi.target import CdiTarget

_MISSING = {
    implementation.LOAD: "does not tell what it has loaded",
    implementation.INJECT: "injects nothing",
    implementation.CONFIG: "makes the config itself",
    implementation.REQUEST: "injects in an order of its own",
    implementation.DIRECTORIES: "reads two directories",
    implementation.WATCH: "reads everything anew at each act",
    implementation.MINIMUM: "does not tell minimum versions",
    implementation.WRITE: "writes no files",
    implementation.ANNOTATIONS: "neither makes nor reads annotations",
    implementation.RUNTIME: "makes no containers",
}


@attrs.frozen
class Can:
    """An implementation with that feature."""

    label: str

    def unmet(self, target: CdiTarget) -> str | None:
        """See case.Need."""
        if self.label in target.implementation.features:
            return None
        return f"{target.name} {_MISSING[self.label]}"


@attrs.frozen
class Nodes:
    """Device nodes that cases can make: real ones, or ones that our own fake believes in."""

    label: str = "device nodes of our own"

    def unmet(self, target: CdiTarget) -> str | None:
        """See case.Need."""
        return target.nodes.why_not() or None


@attrs.frozen
class Policy:
    """A row in which only the specification's text binds, or only practice."""

    label: str

    def unmet(self, target: CdiTarget) -> str | None:
        """See case.Need."""
        if target.settings.policy == self.label:
            return None
        return f"the policy {target.settings.policy} leaves it open; --policy {self.label}"


@attrs.frozen
class TwoDirectories:
    """Two directories of which one wins over the other."""

    label: str = "two directories"

    def unmet(self, target: CdiTarget) -> str | None:
        """See case.Need."""
        if len(target.directories) == 1:
            return f"{target.directories[0]} is the only --cdi-dir of {target.name}"
        return None


LOAD, INJECT = Can(implementation.LOAD), Can(implementation.INJECT)
CONFIG, REQUEST = Can(implementation.CONFIG), Can(implementation.REQUEST)
DIRECTORIES, WATCH = Can(implementation.DIRECTORIES), Can(implementation.WATCH)
MINIMUM, WRITE = Can(implementation.MINIMUM), Can(implementation.WRITE)
ANNOTATIONS, RUNTIME = Can(implementation.ANNOTATIONS), Can(implementation.RUNTIME)
NODES = Nodes()
TWO_DIRECTORIES = TwoDirectories()
STRICT = Policy("strict")
