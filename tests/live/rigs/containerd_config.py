"""The configuration of a containerd, of the first or the second major version.

What it leaves out keeps containerd's default (`containerd config default` prints those).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["configuration"]

_CRI_1 = 'plugins."io.containerd.grpc.v1.cri"'
_CRI_2 = 'plugins."io.containerd.cri.v1'
_OPT = 'plugins."io.containerd.internal.v1.opt"'
Tables = dict[str, dict[str, Any]]


def configuration(
    version: str,
    folder: Path,
    *,
    image: str,
    bin_dirs: Sequence[Path],
    conf_dir: Path,
    cni: Mapping[str, Any],
    cri: Mapping[str, Any] | None = None,
) -> str:
    """The text of a config.toml: all state in `folder`, its socket `folder/containerd.sock`.

    `image` is that of sandboxes; `cni` adds to the settings of CNI or replaces them, `cri` to those
    of CRI. Raises ValueError for more than one of `bin_dirs` before 2.0.
    """
    first = version.startswith("1.")
    network = {"conf_dir": str(conf_dir), **_bin_dirs(first, version, bin_dirs), **cni}
    common: Tables = {
        "": {
            "version": 2 if first else 3,
            "root": f"{folder}/root",
            "state": f"{folder}/state",
        },
        "grpc": {"address": f"{folder}/containerd.sock"},
        _OPT: {"path": f"{folder}/opt"},
    }
    return _toml({**common, **(_cri_1 if first else _cri_2)(image, network, cri or {})})


def _cri_1(image: str, network: dict[str, Any], more: Mapping[str, Any]) -> Tables:
    return {
        # A negative oom score takes CAP_SYS_RESOURCE, which a machine of CI may lack.
        _CRI_1: {"restrict_oom_score_adj": True, "sandbox_image": image, **more},
        f"{_CRI_1}.cni": network,
    }


def _cri_2(image: str, network: dict[str, Any], more: Mapping[str, Any]) -> Tables:
    return {
        f'{_CRI_2}.images".pinned_images': {"sandbox": image},
        f'{_CRI_2}.runtime"': {"restrict_oom_score_adj": True, **more},
        f'{_CRI_2}.runtime".cni': network,
    }


def _bin_dirs(first: bool, version: str, folders: Sequence[Path]) -> dict[str, Any]:
    if not first:
        return {"bin_dirs": [str(folder) for folder in folders]}
    if len(folders) != 1:
        raise ValueError(f"containerd {version} takes one bin_dir, not {len(folders)}")
    return {"bin_dir": str(folders[0])}


def _toml(tables: Tables) -> str:
    """Text of tables of strings, numbers, booleans and lists, which TOML writes as JSON does."""
    lines = []
    for table, settings in tables.items():
        lines += [f"[{table}]"] if table else []
        lines += [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    return "\n".join(lines) + "\n"
