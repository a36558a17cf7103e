"""cniVersion, cniVersions and the flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., Any]


def network(**members: Any) -> dict[str, Any]:
    """A sound list with members changed; None takes one out."""
    document = {"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "t"}], **members}
    return {key: value for key, value in document.items() if value is not None}


@pytest.mark.parametrize("version", [None, ""])
def test_no_version_means_the_oldest(judged: Judged, version: str | None) -> None:
    """Few mean 0.1.0 today."""
    (finding,) = judged(network(cniVersion=version))
    assert (finding.id, finding.severity) == ("CNI-CFG-005", "warning")
    assert "0.1.0" in finding.message


def test_cni_versions_alone_are_enough(judged: Judged) -> None:
    """They are a set of which the highest counts."""
    assert judged(network(cniVersion=None, cniVersions=["1.0.0", "1.1.0"])) == []


def test_a_version_of_the_future_is_an_error_alone_and_fine_in_a_list(judged: Judged) -> None:
    """A list is meant to be read by runtimes of several ages."""
    assert [one.id for one in judged(network(cniVersion="2.0.0"))] == ["CNI-CFG-006"]
    assert judged(network(cniVersion="1.1.0", cniVersions=["1.1.0", "2.0.0"])) == []


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"])
def test_every_version_of_the_specification_is_known(judged: Judged, version: str) -> None:
    """From the first one on."""
    assert judged(network(cniVersion=version)) == []


@pytest.mark.parametrize(
    ("versions", "rows"),
    [
        ([], ["CNI-CFG-007"]),
        (["1.1.0"], ["CNI-CFG-007"]),
        (["1.0.0", "0.4.0"], ["CNI-CFG-008"]),
        (["0.4.0"], ["CNI-CFG-007", "CNI-CFG-008"]),
        (["1.0.0", "1.0"], ["CNI-CFG-007", "CNI-CFG-008"]),
        (["1.0.0", "1.1.0"], []),
        ({"1.1.0": True}, ["CNI-CFG-007"]),
    ],
)
def test_a_list_of_versions_is_judged(judged: Judged, versions: Any, rows: list[str]) -> None:
    """Empty, incomplete, of no use, good, no list."""
    findings = judged(network(cniVersions=versions))
    assert sorted(one.id for one in findings) == rows


@pytest.mark.parametrize("flag", ["disableCheck", "disableGC", "loadOnlyInlinedPlugins"])
def test_a_flag_in_a_plugin_is_an_error_at_the_flag(judged: Judged, flag: str) -> None:
    """The runtime looks at the list only, so CHECK goes on."""
    (finding,) = judged(network(plugins=[{"type": "t", flag: True}]))
    assert (finding.id, finding.severity) == ("CNI-CFG-010", "error")
    assert flag in finding.message


def test_a_flag_in_a_single_plugin_document_is_an_error(judged: Judged) -> None:
    """Wrapping does not lift it into the list."""
    document = {"cniVersion": "0.4.0", "name": "n", "type": "t", "disableCheck": True}
    (finding,) = judged(document, name="n.conf")
    assert finding.id == "CNI-CFG-010"
    assert ".conflist" in finding.fix


@pytest.mark.parametrize("value", ["true", "FALSE"])
def test_a_flag_as_text_is_a_warning(judged: Judged, value: str) -> None:
    """libcni takes it, others refuse the document."""
    (finding,) = judged(network(disableCheck=value))
    assert (finding.id, finding.severity) == ("CNI-CFG-009", "warning")


@pytest.mark.parametrize("value", ["yes", 1, None, []])
def test_a_flag_of_another_type_is_an_error(judged: Judged, value: Any) -> None:
    """Nobody takes it."""
    (finding,) = judged({**network(), "disableGC": value})
    assert (finding.id, finding.severity) == ("CNI-CFG-009", "error")
