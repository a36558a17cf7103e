"""Where a fake can be bent."""

from __future__ import annotations

import math
import sys
import types
from typing import Any

import pytest

from refimpl.wire.seam import Seam


class Counter:
    """Something that counts."""

    def __init__(self, start: int = 0) -> None:
        self.number = start

    def add(self, more: int, *, times: int = 1) -> int:
        """The sum."""
        self.number += more * times
        return self.number


def twice(proceed: Any, more: int, **named: Any) -> Any:
    """Adds the double."""
    return proceed(2 * more, **named)


def test_a_method_is_bent_for_every_object_until_the_block_ends() -> None:
    """And works as before afterwards, even if something was raised."""
    counter = Counter()
    with Seam.of(Counter.add).bent(twice):
        assert counter.add(1) == 2
        assert counter.add(1, times=3) == 8
    with pytest.raises(TypeError, match="str"), Seam.of(Counter.add).bent(twice):
        counter.add("one")  # type: ignore[arg-type]
    assert counter.add(1) == 9


def test_the_object_is_known_by_what_proceeds() -> None:
    """Also while it is made."""
    makers: list[Any] = []

    def noted(proceed: Any, *arguments: Any) -> Any:
        makers.append(proceed.__self__)
        return proceed(*arguments)

    with Seam.of(Counter.__init__).bent(noted):
        counter = Counter(3)
    assert makers == [counter]


def test_a_function_is_bent_where_it_is_called_by_name() -> None:
    """Modules that import a name have it to themselves."""
    user = types.ModuleType("tests_seam_user")
    user.floor = math.floor  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, user.__name__, user)
        with Seam.of(math.floor, user).bent(lambda proceed, number: proceed(number) + 1):
            assert user.floor(1.5) == 2
            assert math.floor(1.5) == 1
        assert user.floor(1.5) == 1
    assert Seam.of(math.floor).places == (("math", "floor"),)
