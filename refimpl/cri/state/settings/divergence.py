"""How a choice in which runtimes differ is written down: its number, its values, its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["PROFILES", "Divergence", "diverges"]

PROFILES = ("strict", "containerd", "crio", "legacy-1.7")
"""`strict` is the text to the letter; the others are containerd 2.4, CRI-O 1.37 and a runtime as
old as containerd 1.7."""
_KEY = "divergence"


@attrs.frozen
class Divergence:
    """One row of the table. number: such as D4. values: profile -> what it does. source: who says
    so."""

    number: str
    values: Mapping[str, Any]
    source: str

    @classmethod
    def of(cls, field: attrs.Attribute[Any]) -> Divergence | None:
        """That of a field of the settings, None for a field that is the same everywhere."""
        written = field.metadata.get(_KEY)
        return written if isinstance(written, cls) else None


def diverges(
    number: str,
    strict: Any,
    *,
    source: str,
    containerd: Any = None,
    crio: Any = None,
    legacy: Any = None,
) -> Any:
    """A field of the settings; a profile that is not named does as `strict`, an old one as
    containerd."""
    own = {
        "containerd": containerd,
        "crio": crio,
        "legacy-1.7": containerd if legacy is None else legacy,
    }
    values = {name: strict if value is None else value for name, value in own.items()}
    return attrs.field(
        default=strict,
        metadata={_KEY: Divergence(number, {"strict": strict, **values}, source)},
    )
