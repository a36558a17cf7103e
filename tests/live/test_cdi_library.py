"""The suite judges the Go library of CDI; what our own makes of the same files is the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.cdi.adapter import LibraryAdapter
from conformance.cdi.features import FEATURES
from refimpl import cdi
from refimpl.documents import json as documents


@pytest.mark.parametrize("policy", ["strict", "practice"])
def test_all_that_is_wrong_with_the_library_is_known(cdi_library: Path, policy: str) -> None:
    """Under the policy practice the current release has no finding at all."""
    expected = ["--expect", "cdi-go"] if policy == "strict" else []
    done = subprocess.run(
        [
            *(sys.executable, "-m", "refimpl", "test", "cdi", "--policy", policy, "-q"),
            *(*expected, "--strict", "--", str(cdi_library)),
        ],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    old = policy == "practice" and "1.1.0" in str(cdi_library)
    assert done.returncode == (1 if old else 0), done.stdout + done.stderr


def test_minimum_versions_are_the_same(cdi_library: Path) -> None:
    """Of everything that came with a version."""
    adapter = LibraryAdapter([str(cdi_library)])
    try:
        for feature in FEATURES:
            document = feature.document(feature.since)
            told = adapter.answer("minimum", {"document": document})
            assert told["version"] == cdi.minimum_version(document), feature.label
    finally:
        adapter.close()


def test_each_reads_what_the_other_wrote(cdi_library: Path, tmp_path: Path) -> None:
    """In both forms, and to the same document."""
    adapter = LibraryAdapter([str(cdi_library)])
    try:
        for feature in FEATURES:
            document = feature.document("1.1.0", of_spec=bool(feature.edits))
            ours = cdi.parse(documents.dump(document))
            for form in (".json", ".yaml"):
                theirs = tmp_path / f"theirs{form}"
                told = adapter.answer("write", {"document": document, "path": str(theirs)})
                assert "error" not in told, feature.label
                assert cdi.load(theirs).spec == ours, feature.label
                folder = tmp_path / f"ours{form}"
                cdi.write(ours, folder, name=f"a{form}")
                opened = {"cache": 1, "directories": [str(folder)], "watched": False}
                assert "error" not in adapter.answer("open", opened)
                listed = adapter.answer("load", {"cache": 1})
                assert listed == {"devices": [ours.qualified(ours.devices[0])], "errors": {}}
    finally:
        adapter.close()
