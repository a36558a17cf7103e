"""What a case needs: features that a target has or lacks, and revisions that a rule is of.

A target tells by `lacks[feature]` why it has not got a feature, in one phrase, and by an empty text
that it has. What has to be tried out for that is tried when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import attrs

from conformance.engine.targets.revision import Revision

__all__ = ["AllOf", "AnyOf", "Feature", "Lacks", "Need", "Needed", "Since", "Until", "Without"]


class Needed(Protocol):
    """What a need asks a target."""

    @property
    def revision(self) -> Revision:
        """The revision it is judged by."""

    @property
    def lacks(self) -> Mapping[str, str]:
        """Feature -> why the target has not got it, empty where it has."""


class Need(Protocol):
    """What a target must have before a case makes sense on it; as a text, its name for people."""

    def unmet(self, target: Any) -> str | None:
        """The reason to skip, as one phrase, None where the target has it."""


@attrs.frozen
class Feature:
    """Something that the target has. label: the need in a word or two, for people."""

    name: str
    label: str = ""

    def unmet(self, target: Needed) -> str | None:
        """The reason that the target gives, None where it has the feature."""
        return target.lacks[self.name] or None

    def __str__(self) -> str:
        return self.label or self.name


@attrs.frozen
class Without:
    """Something that the target has not got. reason: what a skip says of one that has."""

    name: str
    reason: str
    label: str = ""

    def unmet(self, target: Needed) -> str | None:
        """The reason to skip, None where the target lacks the feature."""
        return None if target.lacks[self.name] else self.reason

    def __str__(self) -> str:
        return self.label or f"without {self.name}"


@attrs.frozen
class AnyOf:
    """At least one of several needs."""

    needs: tuple[Need, ...]

    def unmet(self, target: Needed) -> str | None:
        """All reasons, None where one of the needs is met."""
        reasons = [need.unmet(target) for need in self.needs]
        return None if None in reasons else " and ".join(filter(None, reasons))

    def __str__(self) -> str:
        return " or ".join(map(str, self.needs))


@attrs.frozen
class AllOf:
    """Several needs as one, for AnyOf. label: all of them in a word or two."""

    needs: tuple[Need, ...]
    label: str = ""

    def unmet(self, target: Needed) -> str | None:
        """The first reason, None where all of the needs are met."""
        return next((reason for need in self.needs if (reason := need.unmet(target))), None)

    def __str__(self) -> str:
        return self.label or " and ".join(map(str, self.needs))


@attrs.frozen
class Since:
    """A rule that holds from a revision on, that one included. number: such as 1.13."""

    number: str
    label: str = ""

    def unmet(self, target: Needed) -> str | None:
        """The reason to skip, None where the target is judged by that revision or a newer one."""
        if target.revision.since(self.number):
            return None
        return f"a rule from {self.number} on; this run judges by {target.revision}"

    def __str__(self) -> str:
        return self.label or f"revision {self.number}"


@attrs.frozen
class Until:
    """A rule that held up to a revision, that one included."""

    number: str
    label: str = ""

    def unmet(self, target: Needed) -> str | None:
        """The reason to skip, None where the target is judged by that revision or an older one."""
        if target.revision.until(self.number):
            return None
        return f"a rule up to {self.number}; this run judges by {target.revision}"

    def __str__(self) -> str:
        return self.label or f"up to revision {self.number}"


class Lacks(Mapping[str, str]):
    """Reasons by feature: texts, or functions that find one out when it is asked for.

    others: told of a feature that is not listed; without it that is a KeyError.
    """

    def __init__(
        self,
        reasons: Mapping[str, str | Callable[[], str]],
        others: Callable[[str], str] | None = None,
    ) -> None:
        self._reasons, self._others = reasons, others

    def __getitem__(self, feature: str) -> str:
        if feature not in self._reasons and self._others:
            return self._others(feature)
        reason: Any = self._reasons[feature]
        return str(reason() if callable(reason) else reason)

    def __iter__(self) -> Iterator[str]:
        return iter(self._reasons)

    def __len__(self) -> int:
        return len(self._reasons)
