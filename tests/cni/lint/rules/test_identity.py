"""Names of networks and of their plugins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Judged = Callable[..., Any]


def network(**members: Any) -> dict[str, Any]:
    """A sound list with members changed."""
    return {"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "t"}], **members}


def test_the_longest_name_that_leaves_room_for_a_cache_file(judged: Judged) -> None:
    """174 bytes, a dash, 64 digits of a container id, a dash, 15 bytes of an interface: 255."""
    assert judged(network(name="a" * 174)) == []
    (finding,) = judged(network(name="a" * 175))
    assert (finding.id, finding.severity) == ("CNI-CFG-003", "warning")


def test_a_plugin_that_repeats_the_name_of_its_list_is_fine(judged: Judged) -> None:
    """Some projects write it so."""
    assert judged(network(plugins=[{"type": "t", "name": "n", "cniVersion": "1.0.0"}])) == []


def test_a_plugin_with_a_name_of_its_own_is_told_that_it_is_overwritten(judged: Judged) -> None:
    """Its author may rely on it."""
    (finding,) = judged(network(plugins=[{"type": "t", "name": "other"}]))
    assert (finding.id, finding.severity) == ("CNI-CFG-021", "warning")
    assert "'other'" in finding.message
    assert "'n'" in finding.message


def test_a_single_plugin_is_its_own_network(judged: Judged) -> None:
    """There is no list to differ from."""
    assert judged({"cniVersion": "0.4.0", "name": "n", "type": "t"}, name="n.conf") == []


def test_a_name_of_a_plugin_that_is_no_text_is_an_error(judged: Judged) -> None:
    """Loaders in Go refuse the whole document, although nobody needs the member."""
    (finding,) = judged(network(plugins=[{"type": "t", "name": 5}]))
    assert (finding.id, finding.severity) == ("CNI-CFG-021", "error")
