"""`refimpl list`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from conformance.engine import cases
from conformance.engine.case import interface_of

Command = Callable[..., Any]  # see conftest.py


def test_every_case_has_a_line(refimpl: Command) -> None:
    """Id, level and rule, in the order of the ids."""
    result = refimpl("list", "csi")
    assert (result.returncode, result.stderr) == (0, "")
    rows = [line.split()[:2] for line in result.stdout.splitlines()]
    assert rows == [[entry.case.id, entry.case.level.name] for entry in cases.all_cases("csi")]


def test_all_interfaces_are_listed_unless_one_is_named(refimpl: Command) -> None:
    """`all` is taken, too."""
    assert refimpl("list").stdout == refimpl("list", "all").stdout
    assert set(refimpl("list", "csi").stdout.splitlines()) <= set(
        refimpl("list").stdout.splitlines()
    )


def test_json_has_the_fields_that_scripts_read(refimpl: Command) -> None:
    """One object a line: id, interface, level, title, source, needs, side."""
    records = [json.loads(line) for line in refimpl("list", "--json").stdout.splitlines()]
    assert len(records) == len(cases.all_cases())
    promised = {"id", "interface", "level", "title", "source", "needs", "side"}
    for record in records:
        assert promised <= set(record)
        assert record["interface"] == interface_of(record["id"])
        assert record["level"] in ("MUST", "SHOULD", "MAY")
        assert record["side"] in ("plugin", "client")
        assert isinstance(record["needs"], list)


def test_an_unknown_interface_is_a_usage_error(refimpl: Command) -> None:
    """It names those there are."""
    result = refimpl("list", "csy")
    assert (result.returncode, result.stdout) == (4, "")
    assert "'csy': there is csi" in result.message
