"""Lint on documents in memory and on small folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refimpl.cni.lint import Finding, Report, lint, lint_bytes

Documents = dict[str, Any]


@pytest.fixture
def judged() -> Callable[..., list[Finding]]:
    """`judged({...}, name="x.conflist", only="CNI-CFG-006")`: the findings on one document."""

    def judge(document: Any, name: str = "net.conflist", only: str = "") -> list[Finding]:
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        findings = lint_bytes(data, name=name).findings
        return [finding for finding in findings if only in ("", finding.id)]

    return judge


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[Documents], Report]:
    """`folder({"10-a.conflist": {...}, "a/10.conf": {...}})`: the report on a folder of these."""

    def judge(documents: Documents, **more: Any) -> Report:
        for name, document in documents.items():
            path = tmp_path / "net.d" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            data = document if isinstance(document, bytes) else json.dumps(document).encode()
            path.write_bytes(data)
        return lint([tmp_path / "net.d"], **more)

    return judge
