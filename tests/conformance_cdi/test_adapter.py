"""Adapters: children that answer lines of JSON, and what becomes of those that do not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from conformance.cdi.adapter import LibraryAdapter
from conformance.cdi.implementation import EVERY
from conformance.engine.options import BadOption
from conformance.engine.targets.lines import Gone
from refimpl.wire.client import Unreachable

Start = Callable[[str], LibraryAdapter]
HELLO = """\
import sys, json
print(json.dumps({"name": "x", "version": "1", "features": ["load"]}), flush=True)
"""


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a Python text as an adapter."""
    running: list[LibraryAdapter] = []

    def make(text: str) -> LibraryAdapter:
        running.append(LibraryAdapter([sys.executable, "-c", text]))
        return running[-1]

    yield make
    for adapter in running:
        adapter.close()


def test_it_is_known_by_what_it_says_of_itself() -> None:
    """Name, version and features come from its answer to hello."""
    adapter = LibraryAdapter([sys.executable, "-m", "conformance.cdi.inprocess"])
    try:
        assert (adapter.name, adapter.features) == ("fake", EVERY)
        assert adapter.resident() > 0
        assert "error" in adapter.answer("annotate", _asked("-"))
        assert "annotations" in adapter.answer("annotate", _asked("vendor"))
    finally:
        adapter.close()


def _asked(plugin: str) -> dict[str, object]:
    return {"annotations": {}, "plugin": plugin, "device_id": "a", "devices": []}


def test_one_that_dies_is_started_again_and_its_last_words_are_told(start: Start) -> None:
    """A library that panics ends one act, not the run."""
    adapter = start(HELLO + "sys.stdin.readline(); sys.stdin.readline(); sys.exit('panic: no')")
    with pytest.raises(Gone, match="exit 1; panic: no"):
        adapter.answer("load", {"cache": 1})
    lost = adapter.lost()
    assert lost is not None
    assert lost.revived
    assert adapter.lost() is None
    # What this one says first is the answer to whatever it is asked.
    assert adapter.answer("load", {"cache": 1})["name"] == "x"


@pytest.mark.parametrize("said", ["print(3)", "print('{')", "print()"])
def test_an_answer_that_is_no_object_is_an_end(start: Start, said: str) -> None:
    """What cannot be read is not guessed at."""
    adapter = start(f"{HELLO}sys.stdin.readline(); sys.stdin.readline(); {said}; sys.stdin.read()")
    with pytest.raises(Gone):
        adapter.answer("load", {"cache": 1})


def test_one_that_never_says_hello_is_out_of_reach(start: Start) -> None:
    """A program that is no adapter is no target."""
    with pytest.raises(Unreachable, match="no answer to hello"):
        start("pass")


def test_a_feature_that_is_unknown_is_a_mistake_in_the_adapter(start: Start) -> None:
    """Misspelled, it would skip cases silently."""
    with pytest.raises(BadOption, match="feature laod"):
        start(HELLO.replace('"load"', '"laod"'))


def test_a_program_that_is_missing_is_named() -> None:
    """With the reason of the system."""
    with pytest.raises(BadOption, match="/nowhere/adapter: No such file"):
        LibraryAdapter(["/nowhere/adapter"])


def test_what_it_was_asked_can_be_asked_in_a_shell(start: Start) -> None:
    """The cache is opened first."""
    adapter = start(HELLO + "sys.stdin.read()")
    line = adapter.repeat({"cache": 1, "directories": ["/a"]}, "load", {"cache": 1})
    assert line.index('"act": "open"') < line.index('"act": "load"')
    assert line.startswith("printf '%s\\n' ")
