"""What a breach does around a step, in the few ways that most of them have.

A wrapper is called with the arguments of the fault, `proceed` (the step, or the next wrapper in
front of it), the call, and what else the step is given; what it returns, the step has returned.
"""

from __future__ import annotations

from refimpl.cni.format.errors import CniError
from refimpl.cni.plugins.errors import Died

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from refimpl.cni.plugins.call import Call, Step, Wrapper

    Knob = dict[str, Any]
    Breaches = Mapping[str, Mapping[Step, Wrapper]]
    Act = Callable[..., Any]

__all__ = ["dies", "excused", "first", "on", "skipped", "then", "where"]


def skipped(_fault: Knob, _proceed: Act, _call: Call, *_rest: Any) -> None:
    """The step is left out; it returns None."""


def first(act: Act) -> Wrapper:
    """`act(fault, call, *rest)` before the step, which then goes on."""

    def wrapper(fault: Knob, proceed: Act, call: Call, *rest: Any) -> Any:
        act(fault, call, *rest)
        return proceed(call, *rest)

    return wrapper


def then(act: Act) -> Wrapper:
    """`act(fault, call, value)` on what the step returned, or its own value in place of that."""

    def wrapper(fault: Knob, proceed: Act, call: Call, *rest: Any) -> Any:
        value = proceed(call, *rest)
        other = act(fault, call, value)
        return value if other is None else other

    return wrapper


def excused(value: Act) -> Wrapper:
    """A refusal is taken as success, with what `value(call)` returns."""

    def wrapper(_fault: Knob, proceed: Act, call: Call, *rest: Any) -> Any:
        try:
            return proceed(call, *rest)
        except (CniError, ValueError):
            return value(call)

    return wrapper


def where(holds: Act, wrapper: Wrapper) -> Wrapper:
    """The wrapper where `holds(fault, call)`, the step alone elsewhere."""

    def chosen(fault: Knob, proceed: Act, call: Call, *rest: Any) -> Any:
        if holds(fault, call):
            return wrapper(fault, proceed, call, *rest)
        return proceed(call, *rest)

    return chosen


def on(*verbs: str) -> Act:
    """Whether the call is one of these verbs, for `where`."""
    return lambda _fault, call: call.verb in verbs


def dies(before: str = "", after: str = "") -> Wrapper:
    """The plugin is killed at the point that the fault names, before or after the step."""

    def wrapper(fault: Knob, proceed: Act, call: Call, *rest: Any) -> Any:
        point = fault.get("point", "start")
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
