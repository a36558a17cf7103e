"""How a case says what it wanted: accepted statuses, softer findings, checks made together,
conditions that take time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from threading import Event
from types import TracebackType
from typing import TypeVar

import pytest

from refimpl.wire.client import Unreachable, timeout_factor
from refimpl.wire.status import Code, Refused

T = TypeVar("T")

AT_FAULT = (AssertionError, Refused, Unreachable)
"""What a case raises to say that the target is at fault; anything else is a fault of ours."""


class Broken(AssertionError):
    """A requirement is not met: the rule, what was wanted and what came."""

    soft = False
    """Whether it warns, whatever the level of the case."""

    def __init__(self, rule: str, wanted: str, got: str) -> None:
        super().__init__(f"{rule}\n  wanted: {wanted}\n  got:    {got}")
        self.rule, self.wanted, self.got = rule, wanted, got


class Doubtful(Broken):
    """A softer part of a requirement is not met: it warns, whatever the level of the case."""

    soft = True


class Unjudged(Refused):
    """A refusal that says nothing of the rule that is judged.

    because: why, in one phrase. owner: id of the case that this is about and that fails for it;
    empty where nothing is broken, such as a target that is full.
    """

    def __init__(self, refusal: Refused, because: str, owner: str = "") -> None:
        super().__init__(refusal.code, refusal.message, details=refusal.details)
        self.because, self.owner = because, owner

    def __reduce__(self) -> tuple[object, ...]:
        refusal = Refused(self.code, self.message, details=self.details)
        return type(self), (refusal, self.because, self.owner)


class Several(Broken):
    """Several parts of a requirement are not met. The first decides: a softer one comes last."""

    def __init__(self, breaches: Sequence[BaseException]) -> None:
        self.breaches = sorted(breaches, key=is_soft)
        first = self.breaches[0]
        if isinstance(first, Broken):
            super().__init__(first.rule, first.wanted, first.got)
        else:
            super().__init__("the target answers as it has to", "no failure", str(first))
        self.args = ("\n".join(map(str, self.breaches)),)
        self.soft = is_soft(first)


def is_soft(error: BaseException) -> bool:
    """Whether an error that a case raised is but a warning."""
    return isinstance(error, Broken) and error.soft


class Checks:
    """What `together` yields: `with check:` around each check that the others do not need."""

    def __init__(self) -> None:
        self.breaches: list[BaseException] = []

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        """A breach is noted and the case goes on; where nobody answers any more it stops."""
        noted = isinstance(error, AT_FAULT) and not isinstance(error, Unreachable)
        if error is not None and noted:
            self.note(error)
        return noted

    def note(self, error: BaseException) -> None:
        """One more breach, or those that were told together elsewhere; the same is told once."""
        known = set(map(str, self.breaches))
        more = error.breaches if isinstance(error, Several) else [error]
        self.breaches += [each for each in more if str(each) not in known]

    def found(self, rule: str, wanted: object, *got: str) -> None:
        """A breach for each text of what is wrong; empty texts are none."""
        for each in filter(None, got):
            self.note(Broken(rule, _brief(wanted), _brief(each)))


@contextlib.contextmanager
def together() -> Iterator[Checks]:
    """Checks that do not need each other: all are made, and what they find is told as one finding.

        with together() as check:
            for name, request in requests.items():
                with check:
                    refused(plugin.run(request), f"{name} is refused")

    Raises the breach where there is one, Several where there are more. What fails between the
    checks ends them, and is told with what they found; neither a skip nor an error of the case,
    which has to go on from where the target is wrong, hides that.
    """
    checks = Checks()
    try:
        yield checks
    except AT_FAULT as error:
        checks.note(error)
    except pytest.skip.Exception:
        if not checks.breaches:
            raise
    except Exception as error:
        if not checks.breaches:
            raise
        found = f"{type(error).__name__}: {error}"
        checks.note(Doubtful("the checks behind these can be made", "no error", found))
    _tell(checks.breaches)


def _tell(breaches: Sequence[BaseException]) -> None:
    judged = [each for each in breaches if not isinstance(each, Unjudged)]
    if len(judged) > 1:
        raise Several(judged) from judged[0]
    for error in judged or breaches:
        raise error


def timeout(seconds: float) -> float:
    """A deadline in seconds, scaled by REFIMPL_TIMEOUT_FACTOR for slow machines."""
    return seconds * timeout_factor()


def expect_status(call: Callable[[], T], accepted: Collection[Code], rule: str) -> T | None:
    """Makes the call; raises Broken unless its status is one of `accepted`.

    Returns the reply when the call went through (and OK is accepted), None when it was refused.
    Raises Unjudged for a refusal that is not accepted and not about the rule.
    """
    wanted = " or ".join(code.name for code in sorted(accepted))
    try:
        reply = call()
    except Refused as refusal:
        if refusal.code in accepted:
            return None
        if isinstance(refusal, Unjudged):
            raise
        raise Broken(rule, wanted, str(refusal)) from None
    if Code.OK in accepted:
        return reply
    raise Broken(rule, wanted, f"OK, {_brief(reply)}")


def expect(condition: object, rule: str, *, wanted: object, got: object) -> None:
    """Raises Broken unless the condition holds."""
    if not condition:
        raise Broken(rule, _brief(wanted), _brief(got))


def should(condition: object, rule: str, *, wanted: object, got: object) -> None:
    """Raises Doubtful unless the condition holds: for the SHOULD half of a MUST row."""
    if not condition:
        raise Doubtful(rule, _brief(wanted), _brief(got))


def _never() -> str:
    return ""


def eventually(
    predicate: Callable[[], T],
    deadline_s: float,
    what: str,
    *,
    unless: Callable[[], str] = _never,
) -> T:
    """Asks until the answer is true; raises Broken with the last answer after the deadline.

    unless: tells why it will never be true, such as how a process has ended; raises Broken then.
    """
    end = time.monotonic() + timeout(deadline_s)
    pause = 0.001
    while True:
        fate = unless()  # before the answer: what came just before the end still counts
        last = predicate()
        if last:
            return last
        if fate:
            raise Broken(what, f"within {timeout(deadline_s):g} s", fate)
        if time.monotonic() >= end:
            raise Broken(what, f"within {timeout(deadline_s):g} s", f"still {_brief(last)}")
        Event().wait(pause)
        pause = min(pause * 1.5, 0.1)


def soon(predicate: Callable[[], T], deadline_s: float = 1.0) -> T | None:
    """The first true answer, None where none comes within the deadline or asking raises Broken."""
    with contextlib.suppress(Broken):
        return eventually(predicate, deadline_s, "soon")
    return None


def stays(
    predicate: Callable[[], object],
    for_s: float,
    what: str,
    *,
    wanted: object = "so it stays",
    got: Callable[[], object] = lambda: "it changed",
) -> None:
    """Watches for a while that something remains true; raises Broken when it is not."""
    end = time.monotonic() + timeout(for_s)
    pause = min(0.02, for_s / 4)
    while True:
        if not predicate():
            raise Broken(what, _brief(wanted), _brief(got()))
        if time.monotonic() >= end:
            return
        Event().wait(pause)


def _brief(value: object) -> str:
    if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value):
        value = "; ".join(each or '""' for each in value)  # sentences, or names
    text = " ".join(str(value).split()) or "an empty answer"
    return text if len(text) <= 300 else f"{text[:297]}..."
