"""What cases make on a driver is undone with the scope in which they made it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

from conformance.csi.undo import REQUESTS, TABLE, Call, methods_of, undo
from conformance.engine.ledger.calls import CallLedger, Made
from conformance.engine.ledger.entries import Ledger
from conformance.engine.scope import CaseScope
from conformance.engine.targets.life import Life
from conformance.engine.verdict import Broken

__all__ = ["CleanUp", "quietly"]


class CleanUp:
    """Undoes calls, newest first; one that the driver will not undo is a finding about its case,
    and is tried once more at the end of the run. What the driver would die of is not tried.

    call: one by its full method name, with the user's secrets. scope: what is made now goes with
    it: that of the case that runs, unless a trial is going on. life: that of the driver.
    """

    life: Life | None = None

    def __init__(self, ledger: Ledger, call: Call) -> None:
        self.calls = CallLedger(ledger, TABLE, REQUESTS, self._begun)
        self.scope = CaseScope()
        self._call = call

    def _begun(self, call: Made) -> None:
        self.scope.callback(partial(self._undo, call, self.scope))

    def _undo(self, call: Made, scope: CaseScope) -> None:
        if not self.calls.is_open(call):
            return
        if self._in_vain(call):
            scope.kept = True
            return
        try:
            with self.within(CaseScope()):  # a create that is repeated is no further thing to undo
                undo(call, self._call)
        except Broken:
            scope.failed = True  # what was lent to the case may not be as it was
            if scope.kept:
                return  # it may be in use by what stays
            raise
        self.calls.forget(call)

    def _in_vain(self, call: Made) -> bool:
        """Whether the driver answers nothing, or did not answer when last asked for the like."""
        if not self.life:
            return False
        methods = methods_of(call)
        return bool(self.life.silence) or any(self.life.in_vain(each) for each in methods)

    @contextlib.contextmanager
    def within(self, scope: CaseScope) -> Iterator[None]:
        """What is made inside goes with this scope."""
        outer, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = outer

    @contextlib.contextmanager
    def trial(self) -> Iterator[None]:
        """What is made inside is undone at the end of the block, without a finding."""
        scope = CaseScope()
        with self.within(scope):
            try:
                yield
            finally:
                quietly(scope)

    def close(self) -> None:
        """Ends the run and its ledger: what could not be undone before is tried once more, without
        a finding."""
        quietly(self.scope)
        for call in self.calls.open_calls():
            with contextlib.suppress(Broken):
                self._undo(call, self.scope)
        self.calls.ledger.close()


def quietly(scope: CaseScope) -> None:
    """Closes a scope; what the driver will not undo is left for the end of the run."""
    with contextlib.suppress(Broken):
        scope.close()
