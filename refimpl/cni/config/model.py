"""A network as its configuration describes it (CNI 1.1, "Network configuration format")."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs


class ConfigError(ValueError):
    """A configuration nothing can be done with; one line a defect: file:line:column, what, fix."""

    def __init__(self, text: str, lines: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.lines = tuple(lines) or (text,)


@attrs.frozen
class PluginConf:
    """One plugin object. `raw` is the object as written: share it, do not alter it."""

    type: str
    capabilities: dict[str, bool] = attrs.field(factory=dict)
    ipam_type: str = ""
    raw: dict[str, Any] = attrs.field(factory=dict)

    @classmethod
    def of(cls, raw: dict[str, Any]) -> PluginConf:
        """The plugin of a sound plugin object."""
        ipam = raw.get("ipam") or {}
        return cls(raw["type"], dict(raw.get("capabilities") or {}), ipam.get("type", ""), raw)


@attrs.frozen
class NetworkList:
    """A network and its plugins in the order of ADD.

    `raw` is the list object (the wrapping one where `single`), `bytes` the document a runtime
    would cache; both leave out plugins of the sub-directory, `plugins` has them at its end.
    """

    name: str
    cni_version: str
    cni_versions: tuple[str, ...] = ()
    disable_check: bool = False
    disable_gc: bool = False
    load_only_inlined_plugins: bool = False
    plugins: tuple[PluginConf, ...] = ()
    raw: dict[str, Any] = attrs.field(factory=dict)
    source: Path | None = attrs.field(default=None, eq=False)
    bytes: builtins.bytes = attrs.field(default=b"", eq=False, repr=False)
    single: bool = attrs.field(default=False, eq=False)

    @property
    def declared_versions(self) -> tuple[str, ...]:
        """Every version the document offers; without any word of it that is 0.1.0."""
        own = (self.cni_version,) if "cniVersion" in self.raw or not self.cni_versions else ()
        return own + self.cni_versions
