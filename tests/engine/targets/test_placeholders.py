"""Placeholders of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.interfaces import INTERFACES
from conformance.engine.options import BadOption
from conformance.engine.targets import placeholders

ROOT = Path(__file__).parents[3]
HOOKS = {"volume_id", "status", "reason", "id"}


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


def _owners(name: str) -> list[str]:
    """The words behind `refimpl test` of commands that have the placeholder."""
    sides = [("", each.name, each.targets) for each in INTERFACES.values()]
    sides += [("client ", each.name, each.clients) for each in INTERFACES.values()]
    return [
        f"`{side}{interface}`"
        for side, interface, schemes in sides
        if any(name in scheme.placeholders for scheme in schemes.values())
    ]


def test_the_docs_have_one_table_of_them() -> None:
    """With their meaning, and who has them; nothing of an interface is missing in it."""
    text = (ROOT / "docs" / "targets.md").read_text()
    for name, meaning in placeholders.MEANINGS.items():
        row = f"| `{{{name}}}` | {meaning} | {', '.join(_owners(name))} |"
        assert row in text.splitlines()
    for interface in INTERFACES.values():
        for scheme in (*interface.targets.values(), *interface.clients.values()):
            assert set(scheme.placeholders) <= set(placeholders.MEANINGS)


@pytest.mark.parametrize("path", ["README.md", "docs/targets.md"])
def test_no_other_placeholder_is_shown_to_users(path: str) -> None:
    """But for those of hooks."""
    shown = placeholders.used((ROOT / path).read_text().split())
    assert shown <= {*placeholders.MEANINGS, *HOOKS}


def test_the_command_tells_all_of_them() -> None:
    """Those of one interface alone need not be among them."""
    shown = placeholders.used((ROOT / "refimpl/cli/test.py").read_text().split())
    assert {*placeholders.MEANINGS} - {"resource"} <= shown
