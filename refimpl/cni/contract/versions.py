"""The versions of the CNI specification and its verbs, as data: a new version is one more row."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping

__all__ = ["LATEST", "SINCE", "VERSIONS", "Verb", "at_least", "version_key"]

VERSIONS: tuple[str, ...] = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
LATEST = VERSIONS[-1]

_NUMBER = "(0|[1-9][0-9]{0,17})"
_FORM = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")


class Verb(enum.StrEnum):
    """The operations, as `CNI_COMMAND` spells them (CNI SPEC section 2)."""

    ADD = "ADD"
    DEL = "DEL"
    CHECK = "CHECK"
    STATUS = "STATUS"
    GC = "GC"
    VERSION = "VERSION"


SINCE: Mapping[Verb, str] = {
    Verb.ADD: "0.1.0",
    Verb.DEL: "0.1.0",
    Verb.VERSION: "0.2.0",
    Verb.CHECK: "0.4.0",
    Verb.STATUS: "1.1.0",
    Verb.GC: "1.1.0",
}


def version_key(text: str) -> tuple[int, int, int]:
    """The version as three numbers that sort; the empty text is 0.1.0, as an absent `cniVersion`.

    Raises ValueError for every other form ("1.0", "v1.0.0", "1.1.0-rc1"): versions of the
    protocol are compared as whole strings, so a near miss must not pass.
    """
    found = _FORM.fullmatch(text or VERSIONS[0])
    if found is None:
        raise ValueError(
            f"cniVersion {text[:60]!r}: wanted three numbers with dots between them and nothing "
            f"else, such as {LATEST!r}; write the version in that form"
        )
    major, minor, patch = (int(part) for part in found.groups())
    return major, minor, patch


def at_least(version: str, floor: str) -> bool:
    """Whether `version` is `floor` or a later one. Raises ValueError as `version_key` does."""
    return version_key(version) >= version_key(floor)
