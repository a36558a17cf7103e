"""Bytes to a network and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from refimpl.cni.config.model import ConfigError, NetworkList, PluginConf
from refimpl.cni.config.shape import Problem, is_single, plugin_problems, problems
from refimpl.documents import Document, DocumentError
from refimpl.documents import json as documents

# What a document without "cniVersion" means (CNI 0.1.0 did not have the member).
UNSAID = "0.1.0"


def parse(data: bytes, *, name: str = "") -> NetworkList:
    """Reads a network list, or a single plugin's document, which is wrapped (`single`).

    A list without "plugins" comes with none: `load` finds those of the sub-directory. Raises
    ConfigError with file:line:column of every defect; `name` stands for the file.
    """
    document = _document(data, name)
    _refuse(document, problems(document.value), name)
    if not is_single(document.value):
        return _network(document.value, data, single=False)
    wrapped = {key: document.value[key] for key in ("cniVersion",) if key in document.value}
    wrapped |= {"name": document.value["name"], "plugins": [document.value]}
    return _network(wrapped, documents.dump(wrapped), single=True)


def parse_plugin(data: bytes, *, name: str = "") -> PluginConf:
    """Reads one plugin object of a network's sub-directory; raises ConfigError."""
    document = _document(data, name)
    _refuse(document, plugin_problems(document.value, ()), name)
    return PluginConf.of(document.value)


def dump(network: NetworkList) -> bytes:
    """A list document of the network with all its plugins inlined; `parse` reads it back."""
    plugins = [plugin.raw for plugin in network.plugins]
    return documents.dump({**network.raw, **({"plugins": plugins} if plugins else {})})


def _document(data: bytes, name: str) -> Document:
    try:
        return documents.parse(data, name=name)
    except DocumentError as error:
        raise ConfigError(str(error)) from error


def _refuse(document: Document, problems: Iterable[Problem], name: str) -> None:
    """Raises ConfigError where there are problems."""
    lines = []
    for problem in problems:
        line, column = document.position(problem.pointer)
        place = f"{name}:{line}:{column}" if name else f"line {line}, column {column}"
        lines.append(f"{place}: {problem.text}; {problem.fix} ({problem.row})")
    if lines:
        raise ConfigError("\n".join(lines), lines)


def _network(raw: dict[str, Any], data: bytes, *, single: bool) -> NetworkList:
    return NetworkList(
        name=raw["name"],
        cni_version=raw.get("cniVersion") or UNSAID,
        cni_versions=tuple(raw.get("cniVersions", ())),
        disable_check=raw.get("disableCheck", False),
        disable_gc=raw.get("disableGC", False),
        load_only_inlined_plugins=raw.get("loadOnlyInlinedPlugins", False),
        plugins=tuple(PluginConf.of(plugin) for plugin in raw.get("plugins", ())),
        raw=raw,
        bytes=data,
        single=single,
    )
