"""Documents of somebody as a target: nothing is called, nothing is changed."""

from __future__ import annotations

import os
from pathlib import Path

from conformance.cni.networks.documents import Documents
from conformance.cni.target import CniTarget
from conformance.engine.options import BadOption
from conformance.engine.targets.resolve import ResolvedTarget
from refimpl.cni.lint.finding import visible
from refimpl.cni.lint.subject import Folder
from refimpl.wire.client import Unreachable

__all__ = ["open_documents"]


def open_documents(resolved: ResolvedTarget) -> CniTarget:
    """Opens `dir:DIR` and `file:FILE`.

    Raises Unreachable where there is nothing to judge, BadOption for a --cni-path of no use.
    """
    path = Path(resolved.address)
    reason = _missing(resolved.scheme, path)
    if reason:
        raise Unreachable(reason)
    documents = Documents(path, cni_path=_directories(resolved.settings.path), seed=resolved.seed)
    reason = _nothing(documents.folder)
    if reason:
        raise Unreachable(reason)
    count = len(documents.folder.networks)
    name = f"{count} network{'s' * (count != 1)}"
    return CniTarget(resolved, name, documents=lambda: documents)


def _missing(kind: str, path: Path) -> str:
    """Why the target is not what its kind says; "" where it is."""
    if not path.name and kind == "file":
        return "file: names no file; use for example file:net.conflist"
    if not os.path.lexists(path):
        return f"{path}: no such file or directory; {kind}: takes network configurations"
    if path.is_dir() != (kind == "dir"):
        other = "file" if kind == "dir" else "dir"
        return f"{path}: this is no {'directory' if kind == 'dir' else 'file'}; use {other}:{path}"
    return ""


def _nothing(folder: Folder) -> str:
    """Why there is nothing to judge; a file that is no JSON is something."""
    if folder.defect:
        return f"{folder.path}: {folder.defect}"
    if not folder.networks:
        strays = ", ".join(visible(path.name) for path in folder.strays[:3])
        beside = f"only {strays}{', ...' * (len(folder.strays) > 3)}" if strays else "nothing"
        return f"{folder.path}: no *.conflist, *.conf or *.json is in it, {beside}"
    source = folder.networks[0].source
    if folder.alone and source.defect and source.status is None:
        return f"{source.path}: {source.defect[2]}"
    return ""


def _directories(cni_path: str) -> list[Path]:
    """The directories of --cni-path; raises BadOption."""
    folders = [Path(part) for part in cni_path.split(os.pathsep) if part]
    for path in folders:
        if not path.is_dir():
            raise BadOption(f"--cni-path: {path} is no directory; name directories of plugins")
    return folders
