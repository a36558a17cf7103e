"""Steps: the functions of a plugin that a breach can stand in front of.

A healthy call knows nothing of breaches: a step costs it one look into an empty table.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Concatenate, ParamSpec, TypeVar

    from refimpl.cni.plugins.call import Call, Step, Wrapper

    Rest = ParamSpec("Rest")
    Value = TypeVar("Value")

__all__ = ["step"]


def step(
    function: Callable[Concatenate[Call, Rest], Value],
) -> Callable[Concatenate[Call, Rest], Value]:
    """The function, with the wrappers that `call.wrappers` has for it in front: each gets what
    comes behind it as `proceed`, then what the step was given."""

    def run(call: Call, /, *rest: Rest.args, **named: Rest.kwargs) -> Value:
        wrappers = call.wrappers.get(run)
        if not wrappers:
            return function(call, *rest, **named)
        value: Value = _through(wrappers, function, call, *rest, **named)
        return value

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run


def _through(wrappers: list[Wrapper], function: Step, call: Call, *rest: Any, **named: Any) -> Any:
    if not wrappers:
        return function(call, *rest, **named)

    def proceed(call: Call, *rest: Any, **named: Any) -> Any:
        return _through(wrappers[1:], function, call, *rest, **named)

    return wrappers[0](proceed, call, *rest, **named)
