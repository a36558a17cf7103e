"""What a case makes, undone when it ends, and what outlasts it because it costs much to make."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

__all__ = ["CaseScope", "Shared"]

T = TypeVar("T")


class CaseScope:
    """One case on a target. What is registered here is undone when the case ends, newest first.

    failed: set by the judge before the scope is closed. heavy: the case may make thousands. kept:
    something of it could not be undone, and was left.
    """

    def __init__(self, *, heavy: bool = False) -> None:
        self.failed = self.kept = False
        self.heavy = heavy
        self._undos: list[Callable[[], object]] = []

    def callback(self, undo: Callable[[], object]) -> None:
        """Calls `undo` at the end."""
        self._undos.append(undo)

    def enter(self, context: AbstractContextManager[T]) -> T:
        """Enters a context and leaves it at the end."""
        entered = context.__enter__()
        self.callback(lambda: context.__exit__(None, None, None))
        return entered

    def close(self) -> None:
        """Undoes all of it; goes on after an error, and raises the first one then."""
        error: BaseException | None = None
        while self._undos:
            try:
                self._undos.pop()()
            except BaseException as raised:
                error = error or raised
        if error:
            raise error


class Shared(Generic[T]):
    """An object that lends itself to one case after the other, until one taints it.

    make: makes it in a scope of its own, which is closed with it. copy: what a case gets, so that
    what it does to it stays with the case.
    """

    def __init__(
        self, make: Callable[[CaseScope], T], copy: Callable[[T], T] = lambda object: object
    ) -> None:
        self._make, self._copy = make, copy
        self._scope: CaseScope | None = None
        self._object: T | None = None

    def lend(self, case: CaseScope) -> T:
        """The object, made if there is none; a case that fails taints it."""
        if self._scope is None:
            self._scope = CaseScope()
            try:
                self._object = self._make(self._scope)
            except BaseException:
                scope, self._scope = self._scope, None
                scope.close()
                raise
        case.callback(lambda: self.taint() if case.failed else None)
        assert self._object is not None
        return self._copy(self._object)

    @property
    def made(self) -> bool:
        """Whether there is an object now."""
        return self._scope is not None

    def taint(self) -> None:
        """Lets go of the object: it is undone, and the next case gets a new one."""
        scope, self._scope, self._object = self._scope, None, None
        if scope:
            scope.close()

    def forget(self) -> None:
        """Lets go of an object that is gone already: nothing is undone."""
        self._scope = self._object = None
