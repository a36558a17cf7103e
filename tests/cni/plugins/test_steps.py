"""Steps, and what stands in front of them."""

from __future__ import annotations

from refimpl.cni.plugins.call import Call
from refimpl.cni.plugins.steps import step


@step
def doubled(call: Call, number: int) -> int:
    """Twice the number."""
    call.say(f"doubled {number}")
    return 2 * number


def one_more(proceed, call, number):
    return proceed(call, number + 1)


def negative(proceed, call, number):
    return -proceed(call, number)


def test_a_step_alone_is_the_function() -> None:
    """With its name and words."""
    assert doubled(Call({}, b"", {}), 3) == 6
    assert (doubled.__name__, doubled.__doc__) == ("doubled", "Twice the number.")


def test_wrappers_stand_in_front_in_their_order_and_of_their_call_alone() -> None:
    """The first of them is the outermost; plugins run side by side in one process."""
    call = Call({}, b"", {})
    call.wrappers[doubled] = [negative, one_more]
    assert doubled(call, 3) == -8
    assert call.log == [b"doubled 4\n"]
    assert doubled(Call({}, b"", {}), 3) == 6


def test_a_wrapper_may_leave_the_step_out() -> None:
    """Most breaches are something that is not done."""
    call = Call({}, b"", {})
    call.wrappers[doubled] = [lambda *_: 0]
    assert (doubled(call, 3), call.log) == (0, [])
