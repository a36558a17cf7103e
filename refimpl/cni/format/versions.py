"""The versions of the CNI specification and its verbs, as data: a new version is one more row."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LATEST", "SINCE", "VERBS", "VERSIONS", "at_least", "version_key"]

VERSIONS: tuple[str, ...] = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
LATEST = VERSIONS[-1]

SINCE: Mapping[str, str] = {
    "ADD": "0.1.0",
    "DEL": "0.1.0",
    "VERSION": "0.2.0",
    "CHECK": "0.4.0",
    "STATUS": "1.1.0",
    "GC": "1.1.0",
}
"""The version each verb came with (CNI SPEC section 2)."""

VERBS = ("ADD", "DEL", "CHECK", "STATUS", "GC", "VERSION")

_DIGITS = 18


def version_key(text: str) -> tuple[int, int, int]:
    """The version as three numbers that sort; the empty text is 0.1.0, as an absent `cniVersion`.

    Raises ValueError for every other form ("1.0", "v1.0.0", "1.1.0-rc1"): versions of the
    protocol are compared as whole strings, so a near miss must not pass.
    """
    parts = (text or VERSIONS[0]).split(".")
    if len(parts) != 3 or not all(map(_is_number, parts)):
        raise ValueError(
            f"cniVersion {text[:60]!r}: wanted three numbers with dots between them and nothing "
            f"else, such as {LATEST!r}; write the version in that form"
        )
    major, minor, patch = map(int, parts)
    return major, minor, patch


def _is_number(text: str) -> bool:
    plain = text.isascii() and text.isdigit() and len(text) <= _DIGITS
    return plain and (text == "0" or text[0] != "0")


def at_least(version: str, floor: str) -> bool:
    """Whether `version` is `floor` or a later one. Raises ValueError as `version_key` does."""
    return version_key(version) >= version_key(floor)
