"""CDI files in a directory of the test's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Document = dict[str, Any]


@pytest.fixture
def document() -> Callable[..., Document]:
    """`document(version=…, kind=…, devices={name: edits}, edits=…)`: a specification, decoded."""

    def make(
        version: str = "1.1.0",
        kind: str = "vendor.com/gpu",
        devices: dict[str, Any] | None = None,
        edits: Any = None,
    ) -> Document:
        edits_of = {"0": {"env": ["A=b"]}} if devices is None else devices
        spec: Document = {
            "cdiVersion": version,
            "kind": kind,
            "devices": [
                {"name": name, "containerEdits": device_edits}
                for name, device_edits in edits_of.items()
            ],
        }
        if edits is not None:
            spec["containerEdits"] = edits
        return spec

    return make


@pytest.fixture
def put(tmp_path: Path, document: Callable[..., Document]) -> Callable[..., Path]:
    """`put("static/a.json", devices=…)` writes a file below tmp_path and returns its path."""

    def write(name: str, **parts: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document(**parts)))
        return path

    return write
