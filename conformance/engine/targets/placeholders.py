"""Placeholders of a command that we start: one meaning each, whatever the interface."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from conformance.engine.options import BadOption

__all__ = ["MEANINGS", "check", "fill", "used"]

MEANINGS = {
    "endpoint": "where it has to serve, as unix:///path",
    "node": "the name of the node",
    "dir": "a fresh folder of its own, for what it keeps",
    "kubelet": "kubelet's root: device-plugins, plugins, plugins_registry, pod-resources lie in it",
    "device-plugins": "short for device-plugins in kubelet's root",
    "registry": "short for plugins_registry in kubelet's root",
    "cdi": "the folder of CDI files",
    "resource": "the resource that is judged",
    "runtime": "the CRI socket of the runtime, as unix:///path",
    "config": "the file of a kubelet's configuration",
    "kubeconfig": "the file that leads a client to the API server",
}
"""Name -> what takes its place."""

# Not `${NAME}`, which is a shell's.
_WORD = re.compile(r"(?<!\$)\{([a-z][a-z_-]*)\}")


def used(words: Iterable[str]) -> set[str]:
    """The names in braces of a command."""
    return {name for word in words for name in _WORD.findall(word)}


def check(words: Sequence[str], allowed: Sequence[str]) -> None:
    """Raises BadOption for a placeholder that there is not, or not for this kind of target."""
    for name in sorted(used(words) - set(allowed)):
        here = ", ".join("{" + each + "}" for each in allowed) or "none"
        if name in MEANINGS:
            raise BadOption(
                f"{' '.join(words)}: {{{name}}} is {MEANINGS[name]}, and this kind of target gets"
                f" none; the placeholders here: {here}"
            )
        near = difflib.get_close_matches(name, allowed, 1)
        meant = f"; did you mean {{{near[0]}}}?" if near else ""
        raise BadOption(
            f"{' '.join(words)}: there is no placeholder {{{name}}}{meant} The placeholders here:"
            f" {here}"
        )


def fill(word: str, values: Mapping[str, object]) -> str:
    """Replaces {name} for each name of `values`; other braces stay as they are."""
    return _WORD.sub(lambda match: str(values.get(match[1], match[0])), word)
