"""One run of critest over a runtime, read from its report."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["outcomes"]

_LIMIT_S = 500


def outcomes(critest: Path, endpoint: str, folder: Path, words: Sequence[str]) -> dict[str, str]:
    """Of each spec that was chosen by `words`, by its whole title: `passed`, or why it was not."""
    report = folder / "report.json"
    done = subprocess.run(
        [
            *(str(critest), "-runtime-endpoint", endpoint, "-runtime-service-timeout", "30s"),
            *("-config", str(folder / "none.yaml"), f"--ginkgo.json-report={report}"),
            *("--ginkgo.no-color", f"--ginkgo.timeout={_LIMIT_S}s", *words),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S + 60,
        check=False,
    )
    assert report.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    specs = json.loads(report.read_text())[0]["SpecReports"]
    told = {_title(each): _outcome(each) for each in specs if each["LeafNodeType"] == "It"}
    return {title: outcome for title, outcome in told.items() if outcome}


def _title(spec: Mapping[str, Any]) -> str:
    return " / ".join([*spec["ContainerHierarchyTexts"], spec["LeafNodeText"]])


def _outcome(spec: Mapping[str, Any]) -> str:
    """Empty for one that was not chosen, which ginkgo calls skipped without a message."""
    message = re.sub(r"\s+", " ", spec.get("Failure", {}).get("Message", ""))
    if spec["State"] == "passed":
        return "passed"
    return f"{spec['State']}: {message}" if spec["State"] != "skipped" or message else ""
