"""Sound network configurations of ours, as a directory that runtimes would read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conformance.cni.mutation import DocumentMutant
from conformance.cni.networks.documents import Documents
from refimpl.cni import contract, lint

_PODS = {
    "cniVersion": "1.1.0",
    "cniVersions": ["1.0.0", "1.1.0"],
    "name": "pods",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "ipMasq": True,
            "mtu": 1450,
            "ipam": {
                "type": "host-local",
                "ranges": [
                    [{"subnet": "10.88.0.0/16", "rangeStart": "10.88.1.0", "gateway": "10.88.0.1"}],
                    [{"subnet": "fd00:10:88::/64"}],
                ],
                "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0", "mtu": 1400, "priority": 50}],
            },
            "dns": {"nameservers": ["10.96.0.10", "fd00:10:96::a"], "search": ["example.org"]},
        },
        {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True},
        {"type": "bandwidth", "capabilities": {"bandwidth": True}},
        {"type": "firewall"},
        {"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}},
    ],
}
_STORAGE = {
    "cniVersion": "1.0.0",
    "name": "storage",
    "disableCheck": True,
    "plugins": [
        {
            "type": "macvlan",
            "master": "eth1",
            "ipam": {"type": "static", "addresses": [{"address": "192.0.2.9/24"}]},
        },
        {"type": "sbr"},
    ],
}
_TENANTS = {
    "cniVersion": "1.1.0",
    "name": "tenants",
    "loadOnlyInlinedPlugins": False,
    "plugins": [
        {
            "type": "ptp",
            "capabilities": {"mac": False, "ips": True},
            "ipam": {"type": "host-local", "subnet": "10.89.0.0/24", "dataDir": "/run/cni-tenants"},
        }
    ],
}
_OLD = {
    "cniVersion": "0.3.1",
    "name": "old",
    "type": "ipvlan",
    "master": "eth2",
    "ipam": {
        "type": "host-local",
        "ranges": [[{"subnet": "10.90.0.0/24"}, {"subnet": "10.91.0.0/24"}]],
        "routes": [{"dst": "10.0.0.0/8", "gw": "10.90.0.1"}],
    },
}

PODS, STORAGE, TENANTS = "10-pods.conflist", "20-storage.conflist", "30-tenants.conflist"
OLD, LOOPBACK = "40-old.conf", "50-loopback.conf"

# The file below net.d -> its document.
DOCUMENTS: dict[str, Any] = {
    PODS: _PODS,
    STORAGE: _STORAGE,
    TENANTS: _TENANTS,
    OLD: _OLD,
    LOOPBACK: {"cniVersion": "0.4.0", "name": "lo", "type": "loopback"},
    "tenants/10-tuning.conf": {"type": "tuning", "mtu": 1400},
    "tenants/20-portmap.conf": {"type": "portmap", "capabilities": {"portMappings": True}},
}
PLUGINS = (
    *("bridge", "macvlan", "ptp", "ipvlan", "loopback", "host-local", "static"),
    *("portmap", "bandwidth", "firewall", "tuning", "sbr"),
)


def write(folder: Path) -> Path:
    """Writes net.d and bin below the folder, whatever the umask; returns net.d."""
    for name, document in DOCUMENTS.items():
        text = json.dumps(document, indent=2) + "\n"
        put(folder / "net.d" / name, text, 0o644)
    for name in PLUGINS:
        put(folder / "bin" / name, plugin(contract.VERSIONS), 0o755)
    return folder / "net.d"


def put(path: Path, text: str, mode: int) -> None:
    """Writes a file of that mode, in directories that only their owner may change."""
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
        path.parent.chmod(0o755)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def plugin(versions: tuple[str, ...]) -> str:
    """A plugin that can do no more than tell its versions."""
    answer = {"cniVersion": contract.LATEST, "supportedVersions": versions}
    return f"#!/bin/sh\ncat >/dev/null\necho '{json.dumps(answer)}'\n"


def opened(folder: Path, mutant: DocumentMutant | None = None, *, seed: int = 0) -> Documents:
    """The samples below the folder as documents under test, broken by the mutant."""
    written = write(folder)
    if mutant is not None:
        mutant.break_(written)

    def lint_bytes(data: bytes, *, name: str) -> lint.Report:
        report = lint.lint_bytes(data, name=name)
        return mutant.seen(report) if mutant else report

    return Documents(written, cni_path=[folder / "bin"], seed=seed, lint_bytes=lint_bytes)
