"""What a container, a network and an interface may be called."""

from __future__ import annotations

__all__ = ["ifname_problem", "is_name"]

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
# What Unicode counts as white space; the kernel refuses the ASCII ones, the Go library all.
_SPACE = frozenset(
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_IFNAME_BYTES = 15


def is_name(text: str) -> bool:
    """A container id or a network's name: a letter or digit, then letters, digits, "_", "." and
    "-"; no limit of length (CNI 1.1)."""
    return text[:1] in _LETTERS and all(c in _LETTERS or c in "_.-" for c in text) and text != ""


def ifname_problem(name: str) -> str:
    """Why Linux takes no interface of that name, "" when it does: 1 to 15 bytes, not "." or "..",
    no "/", ":" or white space."""
    if not name:
        return "it is empty"
    try:
        size = len(name.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return "it is no text of the file system"
    if size > _IFNAME_BYTES:
        return f"longer than {_IFNAME_BYTES} bytes"
    if name in (".", ".."):
        return "a directory's name"
    if "\0" in name or any(c in "/:" or c in _SPACE for c in name):
        return "it holds '/', ':' or white space"
    return ""
