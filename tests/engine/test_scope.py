"""What a case makes, and what outlasts it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from conformance.engine.scope import CaseScope, Shared


def test_the_newest_is_undone_first_whatever_fails() -> None:
    """The first error is told, which may be why there are others; it keeps nothing else from being
    undone."""
    scope, undone = CaseScope(), list[str]()

    def refuse() -> None:
        undone.append("b")
        raise ValueError("b stays")

    @contextlib.contextmanager
    def context() -> Iterator[str]:
        yield "c"
        undone.append("c")

    def refuse_later() -> None:
        undone.append("a")
        raise KeyError("because b stayed")

    scope.callback(refuse_later)
    scope.callback(refuse)
    assert scope.enter(context()) == "c"
    with pytest.raises(ValueError, match="b stays"):
        scope.close()
    assert undone == ["c", "b", "a"]
    scope.close()
    assert undone == ["c", "b", "a"]


class Volume:
    """Counts what is made and undone."""

    def __init__(self) -> None:
        self.made, self.undone = 0, 0

    def make(self, scope: CaseScope) -> list[int]:
        self.made += 1
        scope.callback(self.undo)
        return [self.made]

    def undo(self) -> None:
        self.undone += 1


def test_an_object_is_lent_to_one_case_after_the_other() -> None:
    """Made for the first; each gets a copy."""
    volume = Volume()
    shared = Shared(volume.make, list.copy)
    assert not shared.made
    for _ in range(2):
        case = CaseScope()
        lent = shared.lend(case)
        assert lent == [1]
        lent.append(2)
        case.close()
    assert (volume.made, volume.undone) == (1, 0)
    shared.taint()
    assert (volume.made, volume.undone) == (1, 1)
    assert not shared.made


def test_a_case_that_fails_taints_what_was_lent_to_it() -> None:
    """The next one gets a new object."""
    volume = Volume()
    shared = Shared(volume.make)
    case = CaseScope()
    shared.lend(case)
    case.failed = True
    case.close()
    assert volume.undone == 1
    assert shared.lend(CaseScope()) == [2]


def test_an_object_that_is_gone_is_not_undone() -> None:
    """The driver that had it has been started anew."""
    volume = Volume()
    shared = Shared(volume.make)
    shared.lend(CaseScope())
    shared.forget()
    assert volume.undone == 0
    assert shared.lend(CaseScope()) == [2]


def test_what_cannot_be_made_leaves_nothing() -> None:
    """What came before the error is undone, and the next case tries again."""
    volume = Volume()

    def make(scope: CaseScope) -> int:
        volume.make(scope)
        raise ValueError("refused")

    shared = Shared(make)
    for count in (1, 2):
        with pytest.raises(ValueError, match="refused"):
            shared.lend(CaseScope())
        assert volume.undone == count
