"""Target files: all of a target in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.options import BadOption
from conformance.engine.targets.targetfile import target_file


def test_a_file_tells_where_the_target_is_and_what_its_interface_wants(tmp_path: Path) -> None:
    """The table is the interface's own; the engine does not know its members."""
    path = tmp_path / "mine.toml"
    path.write_text('endpoint = "exec:/opt/cni/bin/x"\nrevision = "r"\n[cni]\nkind = "ipam"\n')
    file = target_file(str(path), "cni")
    assert (file.endpoint, file.revision, file.named) == ("exec:/opt/cni/bin/x", "r", True)
    assert file.settings == {"kind": "ipam"}


def test_another_target_is_no_file() -> None:
    """A socket path must not be looked for among the files."""
    assert not target_file("/run/x.sock", "cni").named


def test_one_of_ours_is_found_by_its_name() -> None:
    """`refimpl test csi kubernetes-mock-driver` needs no path."""
    assert target_file("kubernetes-mock-driver", "csi").named


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('endpoint = "a"\ncommand = ["b"]', "exclude each other"),
        ("", "neither an endpoint nor a command"),
        ("endpont = 'a'", "endpont"),
        ("endpoint = ", "Invalid value"),
        ("endpoint = 'a'\n[csi]\n", "csi"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    """Exit code 4 and the file, before anything is started."""
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(BadOption, match=sentence) as error:
        target_file(str(path), "cni")
    assert "bad.toml" in str(error.value)


def test_a_missing_file_is_named() -> None:
    """A typing error is no target."""
    with pytest.raises(BadOption, match="No such file"):
        target_file("/nowhere/mine.toml", "cni")
