"""What is known of a plugin under test before the first case."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from conformance.cni.settings import CniSettings
from refimpl.cni import contract

KINDS = ("interface", "chained", "ipam")
"""What a plugin does: it makes an interface, works on one that is there, or gives addresses."""


@attrs.frozen
class PluginSubject:
    """What is known of a plugin before the first case: where it lies, what it does, its document.

    config: the plugin object as a runtime derives it, without name, cniVersion and prevResult.
    """

    path: str
    kind: str
    config: Mapping[str, Any]
    versions: Sequence[str]
    cni_path: str
    settings: CniSettings

    @property
    def name(self) -> str:
        """The type that configurations know it by."""
        return Path(self.path).name

    @property
    def ifname(self) -> str:
        """The interface that attachments ask for."""
        return self.settings.ifname or ("lo" if self.name == "loopback" else "eth0")

    @property
    def newest(self) -> str:
        """The newest version that it advertises and we know."""
        known = [version for version in contract.VERSIONS if version in self.versions]
        return known[-1] if known else "0.4.0"

    @property
    def delegates(self) -> bool:
        """Whether it runs another plugin for the addresses."""
        return self.kind == "interface" and bool(self.ipam_type)

    @property
    def ipam_type(self) -> str:
        """The IPAM plugin that the configuration names, empty for none."""
        return str(self._ipam.get("type", ""))

    @property
    def ranged(self) -> bool:
        """Whether the configuration names ranges that the addresses come from."""
        return "ranges" in self._ipam or "subnet" in self._ipam

    @property
    def daemon(self) -> str:
        """The socket of a daemon that the IPAM plugin asks, empty where none is named."""
        return str(self._ipam.get("daemonSocketPath", ""))

    @property
    def unserved(self) -> str:
        """Why no ADD can succeed for want of that daemon, empty where it can."""
        if not self.daemon or Path(self.daemon).is_socket():
            return ""
        return f"nobody listens on {self.daemon}, where {self.ipam_type} asks for addresses"

    @property
    def _ipam(self) -> Mapping[str, Any]:
        ipam = self.config.get("ipam")
        return ipam if isinstance(ipam, dict) else {}


def directories(*parts: str) -> str:
    """A CNI_PATH of several parts, empty ones left out."""
    return os.pathsep.join(dict.fromkeys(part for part in parts if part))
