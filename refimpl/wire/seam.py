"""Where a fake can be bent from outside: the functions that it lets others stand before."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from attrs import frozen

__all__ = ["Seam"]


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
