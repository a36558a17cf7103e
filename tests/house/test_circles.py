"""The check for circles of imports, on packages made for it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house import circles

FREE = {"top": "from {0} import low\n", "low": "import json\n"}
KNOTTED = {
    "a": "def late() -> None:\n    from {0}.room import b\n",
    "room/b": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from {0}.c import C\n",
    "c": "import {0}.a\n\n\nclass C:\n    pass\n",
    "free": "from {0} import a\n",
}
Make = Callable[[dict[str, str]], str]

numbers = itertools.count()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """`package({"module": text})` writes a package and returns its name, which {0} stands for."""
    monkeypatch.syspath_prepend(tmp_path)
    modules = set(sys.modules)

    def make(texts: dict[str, str]) -> str:
        name = f"made_up_{next(numbers)}"
        for module, text in {"__init__": "", "room/__init__": "", **texts}.items():
            path = tmp_path / name / f"{module}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(name))
        return name

    yield make
    for module in sys.modules.keys() - modules:
        if module.startswith("made_up_"):
            del sys.modules[module]


def test_a_package_without_circles_passes(
    package: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    """And says what it looked at."""
    assert circles.main([package(FREE)], known=()) == 0
    assert "no circle among 4 modules" in capsys.readouterr().out


def test_a_circle_fails_and_is_shown_import_by_import(
    package: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the imports stand in a function and under TYPE_CHECKING; who only looks in from
    outside is no part of it."""
    name = package(KNOTTED)
    assert circles.main([name], known=()) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"3 modules import each other: {name}.a, {name}.c, {name}.room.b",
        f"  {name}.a, line 2: from {name}.room import b",
        f"  {name}.room.b, line 4: from {name}.c import C",
        f"  {name}.c, line 1: import {name}.a",
    ]


def test_a_known_knot_passes_until_it_grows(package: Make) -> None:
    """A module more is a new circle."""
    name = package(KNOTTED)
    whole = frozenset({f"{name}.a", f"{name}.room.b", f"{name}.c"})
    assert circles.main([name], known=[whole]) == 0
    assert circles.main([name], known=[whole - {f"{name}.c"}]) == 1


def test_a_known_knot_that_is_undone_fails(
    package: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that the list shrinks."""
    name = package(FREE)
    assert circles.main([name], known=[frozenset({f"{name}.top", f"{name}.low"})]) == 1
    assert "undone, take it out of KNOWN" in capsys.readouterr().err
