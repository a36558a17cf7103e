"""The verbs of CNI as an enumeration, and what `format` knows of versions under it."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from refimpl.cni.format import versions
from refimpl.cni.format.versions import LATEST, VERSIONS, at_least, version_key

__all__ = ["LATEST", "SINCE", "VERSIONS", "Verb", "at_least", "version_key"]


class Verb(enum.StrEnum):
    """The operations, as `CNI_COMMAND` spells them (CNI SPEC section 2)."""

    ADD = "ADD"
    DEL = "DEL"
    CHECK = "CHECK"
    STATUS = "STATUS"
    GC = "GC"
    VERSION = "VERSION"


SINCE: Mapping[Verb, str] = {verb: versions.SINCE[verb] for verb in Verb}
