"""What a breach does around a step, in the few ways that most of them have.

A wrapper is called with `proceed` (the step, or the next wrapper in front of it), the call, and
what else the step is given; what it returns, the step has returned. The arguments of a fault are in
`call.knobs`, by the name of the knob.
"""

from __future__ import annotations

from refimpl.cni.format.errors import CniError
from refimpl.cni.plugins.errors import Died

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from refimpl.cni.plugins.call import Call, Step, Wrapper

    Act = Callable[..., Any]
    Breaches = Mapping[str, Mapping[Step, Wrapper]]

__all__ = ["dies", "excused", "first", "gives", "on", "skipped", "then", "where"]


def skipped(_proceed: Act, _call: Call, *_rest: Any) -> None:
    """The step is left out; it returns None."""


def gives(value: Any) -> Wrapper:
    """The step is left out; it returns that."""
    return lambda *_: value


def first(act: Act) -> Wrapper:
    """`act(call, *rest)` before the step, which then goes on."""

    def wrapper(proceed: Act, call: Call, *rest: Any) -> Any:
        act(call, *rest)
        return proceed(call, *rest)

    return wrapper


def then(act: Act) -> Wrapper:
    """`act(call, value)` on what the step returned, or its own value in place of that."""

    def wrapper(proceed: Act, call: Call, *rest: Any) -> Any:
        value = proceed(call, *rest)
        other = act(call, value)
        return value if other is None else other

    return wrapper


def excused(value: Callable[[], Any]) -> Wrapper:
    """A refusal is taken as success, with what `value()` gives."""

    def wrapper(proceed: Act, call: Call, *rest: Any) -> Any:
        try:
            return proceed(call, *rest)
        except (CniError, ValueError):
            return value()

    return wrapper


def where(holds: Callable[[Call], bool], wrapper: Wrapper) -> Wrapper:
    """The wrapper where something holds, the step alone elsewhere."""
    return lambda proceed, call, *rest: (
        wrapper(proceed, call, *rest) if holds(call) else proceed(call, *rest)
    )


def on(*verbs: str) -> Callable[[Call], bool]:
    """Whether the call is one of these verbs, for `where`."""
    return lambda call: call.verb in verbs


def dies(before: str = "", after: str = "") -> Wrapper:
    """The plugin is killed at the point that "crash-after" names, before or after the step."""

    def wrapper(proceed: Act, call: Call, *rest: Any) -> Any:
        point = call.knobs["crash-after"].get("point", "start")
        if point == before:
            _die(call)
        value = proceed(call, *rest)
        if point == after:
            _die(call)
        return value

    return wrapper


def _die(call: Call) -> None:
    if call.process is not None:
        call.process.die()
    raise Died(-9)
