"""Where a fake can be bent from outside: the functions that it lets others stand before."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar

from attrs import frozen

__all__ = ["Seam"]

_Bend = TypeVar("_Bend", bound=Callable[..., Any])


@frozen
class Seam:
    """A function or method of a fake, by the modules and names that it is called through."""

    places: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, function: Callable[..., Any], *users: ModuleType) -> Seam:
        """The seam of a function. `users`: the modules that call it by a name of their own, from
        an import; without any it is called where it is defined."""
        name = function.__qualname__
        modules = [user.__name__ for user in users] or [function.__module__]
        return cls(tuple((module, name) for module in modules))

    def __call__(self, bend: _Bend) -> _Bend:
        """The bend, marked as one that is to stand here (`Seam.where` says so)."""
        vars(bend)["seam"] = self
        return bend

    @staticmethod
    def where(bend: object) -> Seam | None:
        """Where that bend is to stand; None if nothing was said."""
        seam = getattr(bend, "seam", None)
        return seam if isinstance(seam, Seam) else None

    @contextlib.contextmanager
    def bent(self, bend: Callable[..., Any]) -> Iterator[None]:
        """Until the block ends `bend(proceed, *arguments)` is called in its place; `proceed` is the
        function, or the method of the object that was called."""
        with contextlib.ExitStack() as stack:
            for module, name in self.places:
                *outer, last = name.split(".")
                owner: Any = functools.reduce(getattr, outer, importlib.import_module(module))
                stack.callback(setattr, owner, last, vars(owner)[last])
                setattr(owner, last, _between(vars(owner)[last], bend, isinstance(owner, type)))
            yield


def _between(whole: Any, bend: Callable[..., Any], is_method: bool) -> Callable[..., Any]:
    def function(*arguments: Any, **more: Any) -> Any:
        return bend(whole, *arguments, **more)

    def method(instance: Any, *arguments: Any, **more: Any) -> Any:
        return bend(whole.__get__(instance), *arguments, **more)

    return method if is_method else function
