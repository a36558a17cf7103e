"""The conformance programme of OCI's distribution-spec judges our registry.

Nothing can be written to the registry, so what is judged is the workflow of pulling, an image at a
time; those of pushing and of managing content are switched off, as the programme wants it for such
a registry. It cannot be asked to require Docker-Content-Digest here: of a manifest that it has not
pushed it does not keep the answer, and then misses the header in every registry
(`ManifestGetExists`). With pushing off it also ends in a panic when it writes its results, after
its report on standard output (`ReportResultsYAML`); so the report is what counts.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from refimpl.images.registry import Registry
from refimpl.images.shelf import Shelf

NOT_SERVED = ("PUSH", "BLOBS_DELETE", "MANIFESTS_DELETE", "TAGS_DELETE")
PULLING = {
    *("Ping", "Tag listing", "Referrers", "Blob get", "Blob head"),
    *(f"Manifest {verb} by {what}" for verb in ("get", "head") for what in ("digest", "tag")),
}
_ROW = re.compile(r"^ +(\S[^.]*)\.*: +(\S+)$", re.MULTILINE)


def judged(program: Path, registry: Registry, name: str, folder: Path) -> dict[str, str]:
    """Verdict by what was judged, such as "Blob get" -> "Pass"; name: `repository:tag`."""
    repository, _, tag = name.rpartition(":")
    manifest = registry.content.manifest(repository, tag)
    assert manifest is not None
    settings = {
        "REGISTRY": registry.address,
        "TLS": "disabled",
        "REPO1": repository,
        "RESULTS_DIR": str(folder),
        "RO_DATA_TAGS": tag,
        "RO_DATA_MANIFESTS": manifest.digest,
        "RO_DATA_BLOBS": " ".join(Shelf()[name].blobs),
        "RO_DATA_REFERRERS": manifest.digest,
        **{f"API_{name}": "false" for name in NOT_SERVED},
    }
    env = {**os.environ, **{f"OCI_{name}": value for name, value in settings.items()}}
    done = subprocess.run(
        [program], env=env, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert "OCI Conformance Result:" in done.stdout, done.stderr
    return dict(_ROW.findall(done.stdout.rpartition("OCI Conformance Result:")[2]))


@pytest.mark.parametrize("name", ["busybox:1", "bare:1", "docker:1", "uncompressed:1"])
def test_all_that_can_be_pulled_passes(oci_conformance: Path, tmp_path: Path, name: str) -> None:
    with Registry(Shelf()) as registry:
        found = judged(oci_conformance, registry, name, tmp_path)
    assert {found[what] for what in PULLING} == {"Pass"}, found
    assert (found["FAIL"], found["Error"], found["Skip"]) == ("0", "0", "0"), found
