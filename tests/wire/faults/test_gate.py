"""A held call ends when its caller leaves, its rule goes, the server stops or the time is up."""

import threading
from collections.abc import Callable

import pytest

from refimpl.wire.faults.gate import CallGate, HoldEnd
from refimpl.wire.status import Code, Refused


class FakeCall:
    """A call whose caller can be made to give up."""

    def __init__(self) -> None:
        self.gone = False
        self.callbacks: list[Callable[[], None]] = []

    def cancelled(self) -> bool:
        return self.gone

    def on_cancel(self, callback: Callable[[], None], /) -> None:
        self.callbacks.append(callback)

    def ending(self) -> Refused:
        return Refused(Code.CANCELLED, "gone")

    def give_up(self) -> None:
        self.gone = True
        for callback in self.callbacks:
            callback()


def held(gate: CallGate, call: FakeCall) -> tuple[threading.Thread, list[HoldEnd]]:
    """A thread that waits in the gate, once it does, and where its ending will be."""
    endings: list[HoldEnd] = []
    thread = threading.Thread(target=lambda: endings.append(gate.hold(call)))
    thread.start()
    while not (gate.holding and call.callbacks):
        thread.join(0.001)
    return thread, endings


@pytest.mark.parametrize("ending", [HoldEnd.CALLER, HoldEnd.RULE, HoldEnd.SERVER])
def test_whatever_comes_first_ends_the_wait(ending: HoldEnd) -> None:
    """Nothing may hang beyond the life of caller, rule or server."""
    gate, call = CallGate(), FakeCall()
    thread, endings = held(gate, call)
    act = {HoldEnd.CALLER: call.give_up, HoldEnd.RULE: gate.open, HoldEnd.SERVER: gate.release}
    act[ending]()
    thread.join()
    assert endings == [ending]
    assert gate.holding == 0


def test_the_time_can_be_up() -> None:
    """A delay is a wait that ends by itself."""
    assert CallGate().hold(FakeCall(), seconds=0.0) is HoldEnd.TIME


def test_a_caller_that_has_left_is_not_waited_for() -> None:
    """The callback would come too late for it."""
    call = FakeCall()
    call.give_up()
    assert CallGate().hold(call) is HoldEnd.CALLER


def test_an_open_gate_holds_nobody() -> None:
    """A call may have met the rule just before it was removed."""
    gate = CallGate()
    gate.open()
    assert gate.hold(FakeCall()) is HoldEnd.RULE


def test_a_released_gate_holds_the_next_call_again() -> None:
    """A server may stop and start with the same rules."""
    gate = CallGate()
    gate.release()
    assert gate.hold(FakeCall(), seconds=0.0) is HoldEnd.TIME
