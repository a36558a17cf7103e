"""Placeholders of commands."""

from __future__ import annotations

import pytest

from conformance.engine import placeholders
from conformance.engine.interfaces import INTERFACES
from conformance.engine.options import BadOption


def test_only_our_own_braces_are_filled_in() -> None:
    """Commands may hold JSON, or what a shell fills in."""
    assert placeholders.fill('{"a":{dir}}', {"dir": "/d"}) == '{"a":/d}'
    assert placeholders.fill("{nothing} ${dir}", {"dir": "/d"}) == "{nothing} ${dir}"


def test_a_placeholder_is_known_or_the_right_one_is_named() -> None:
    """Passed on as it is, it would be a folder called {root}."""
    placeholders.check(["./driver", "--x={endpoint}"], ["endpoint", "dir"])
    with pytest.raises(BadOption, match=r"no placeholder \{endpont\}; did you mean \{endpoint\}\?"):
        placeholders.check(["./driver", "{endpont}"], ["endpoint", "dir"])
    with pytest.raises(BadOption, match=r"\{config\} is the file of a kubelet's configuration"):
        placeholders.check(["./driver", "{config}"], ["endpoint", "dir"])
    with pytest.raises(BadOption, match=r"The placeholders here: none"):
        placeholders.check(["./driver", "{x}"], [])


def test_every_placeholder_of_an_interface_has_its_meaning() -> None:
    """The one in the table of docs/targets.md."""
    for interface in INTERFACES.values():
        for scheme in (*interface.targets.values(), *interface.clients.values()):
            assert set(scheme.placeholders) <= set(placeholders.MEANINGS)
