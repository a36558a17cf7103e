"""What a mutant remembers of earlier calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from conformance.engine.mutants import fields

__all__ = ["Noted", "Notes", "Own"]

_Value = TypeVar("_Value")


class Own(Generic[_Value]):
    """An attribute that each mutant has for itself: `seen = Own(set)`."""

    def __init__(self, make: Callable[[], _Value]) -> None:
        self._make = make

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, mutant: object, _kind: type) -> _Value:
        value: _Value = vars(mutant).setdefault(self._name, self._make())
        return value


class Notes:
    """A set of values, of each mutant its own: `staged = Notes("volume_id")`.

    `paths`: where a message has what is noted; several make a tuple.
    """

    def __init__(self, *paths: str) -> None:
        self._paths = paths
        self._name = ""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def of(self, mutant: Any) -> set[Any]:
        """What that mutant has noted."""
        noted: set[Any] = vars(mutant).setdefault(f"_noted_{self._name}", set())
        return noted

    def value(self, message: Any, *paths: str) -> Any:
        """What there is to note of a message."""
        values = tuple(fields.value_of(message, path) for path in paths or self._paths)
        return values if len(values) > 1 else values[0]

    def adds(self, *paths: str, reply: bool = False) -> Any:
        """A bend that notes what is in the request, or in the reply, of a call that succeeded."""

        def bent(mutant: Any, proceed: Any, request: Any, *rest: Any, **more: Any) -> Any:
            value = self.value(request, *paths) if not reply else None
            answer = proceed(request, *rest, **more)
            self.of(mutant).add(self.value(answer, *paths) if reply else value)
            return answer

        return bent

    def drops(self, *paths: str) -> Any:
        """A bend that forgets what is in the request of a call that succeeded."""

        def bent(mutant: Any, proceed: Any, request: Any, *rest: Any, **more: Any) -> Any:
            value = self.value(request, *paths)
            answer = proceed(request, *rest, **more)
            self.of(mutant).discard(value)
            return answer

        return bent

    def has(self, *paths: str) -> Noted:
        """The condition that what is in the request is noted."""
        return Noted(self, paths, True)

    def lacks(self, *paths: str) -> Noted:
        """The condition that there is something in the request, and it is not noted."""
        return Noted(self, paths, False)


class Noted:
    """A condition about what a mutant has noted."""

    def __init__(self, notes: Notes, paths: tuple[str, ...], wanted: bool) -> None:
        self._notes, self._paths, self._wanted = notes, paths, wanted

    def holds(self, mutant: Any, message: Any) -> bool:
        """Whether it is so for the request of a call."""
        value = self._notes.value(message, *self._paths)
        return bool(value) and (value in self._notes.of(mutant)) == self._wanted
