"""What a mutant is, and how its methods come to stand before what they are named after."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, ClassVar

from refimpl.wire.seam import Seam

__all__ = ["Interposed", "Mutant", "bent", "standing"]


class Mutant:
    """One small breach. `fake` is the running fake it breaks.

    A method has the arguments (proceed, *arguments). It stands before what it is named after, or
    before the seam that decorates it; the object whose method that is, is `proceed.__self__`.
    """

    kills: ClassVar[Collection[str]] = ()
    tells: ClassVar[Mapping[str, Collection[str]]] = {}
    """Words that the finding of a case has to have: of each breach that must not hide another."""

    shaped_by: ClassVar[tuple[str, ...]] = ()
    """Which attributes are choices of the fake rather than the breach."""

    by_name: ClassVar[Mapping[str, Seam]] = {}
    """Where a method of that name stands, if there is one."""

    fake: Any = None

    @classmethod
    def chosen(cls) -> dict[str, Any]:
        """The choices of the fake it breaks, without those that are empty."""
        every = {name: getattr(cls, name) for name in cls.shaped_by}
        return {name: value for name, value in every.items() if value}

    @classmethod
    def shape(cls) -> str:
        """Its choices as one text, "" for those of the plain fake; mutants of one shape break one
        fake."""
        plain = next(kind for kind in cls.__mro__ if "shaped_by" in vars(kind))
        own = {name: each for name, each in cls.chosen().items() if each != vars(plain)[name]}
        return repr(own) if own else ""

    @classmethod
    def seams(cls) -> dict[str, Seam]:
        """Where its methods stand inside of the fake, by their names."""
        named = {name: seam for name, seam in cls.by_name.items() if hasattr(cls, name)}
        marked = {name: Seam.where(inspect.getattr_static(cls, name)) for name in dir(cls)}
        return {**named, **{name: seam for name, seam in marked.items() if seam}}

    def started(self) -> None:
        """Called once the fake serves; for breaches of its state or its surroundings."""


def bent(mutant: Mutant | None, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    """What to call in place of `real`: the mutant's method of that name, if it has one."""
    method = getattr(mutant, name, None)
    return functools.partial(method, real) if callable(method) else real


class Interposed:
    """An object whose methods pass through the mutant's where it has one of that name."""

    def __init__(self, whole: object, mutant: Mutant) -> None:
        self._whole, self._mutant = whole, mutant

    def __getattr__(self, name: str) -> Any:
        return bent(self._mutant, name, getattr(self._whole, name))


@contextlib.contextmanager
def standing(mutant: Mutant | None) -> Iterator[None]:
    """Has the mutant's methods stand before their seams."""
    with contextlib.ExitStack() as stack:
        if mutant is not None:
            for name, seam in mutant.seams().items():
                stack.enter_context(seam.bent(getattr(mutant, name)))
        yield
