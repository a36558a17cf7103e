"""Registering anew, and streams that end: where kubelets differ most."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.deviceplugin.state.models import Options
from refimpl.wire.status import Code, Refused

R = "example.com/gpu"


def register(desk: Any, socket: str) -> Any:
    connection = desk.tables.endpoints.register(R, socket)
    desk.tables.endpoints.connect(connection, Options())
    return connection


def test_the_end_of_the_only_stream_makes_all_devices_unhealthy(desk: Any) -> None:
    """DP-KUB-021, 022: at once, capacity stays, and the connection is to be closed."""
    connection = desk.plugin(["a", "b"])
    assert desk.tables.endpoints.ended(connection) is connection
    assert desk.counts() == (2, 0)
    assert connection.stopped == desk.clock()
    assert desk.tables.endpoints.ended(connection) is None


def test_with_one_slot_an_old_end_takes_down_the_new_plugin(kubelet: Any) -> None:
    """DP-KUB-026 up to 1.36: who ended is looked up by resource, and that is the newer one."""
    desk = kubelet("1.35")
    old = desk.plugin(["a"])
    new = desk.plugin(["a", "b"], socket="b.sock")
    assert desk.tables.endpoints.primary[R] is new
    assert desk.tables.endpoints.ended(old) is new
    assert desk.counts() == (2, 0)
    assert new.stopped is not None
    assert desk.tables.endpoints.ended(new) is None


def test_with_a_slot_for_each_socket_an_old_end_does_no_harm(desk: Any) -> None:
    """DP-KUB-026 in 1.37."""
    old = desk.plugin(["a"])
    new = desk.plugin(["a", "b"], socket="b.sock")
    assert desk.tables.endpoints.ended(old) is old
    assert desk.counts() == (2, 2)
    assert desk.tables.endpoints.primary[R] is new


def test_a_survivor_takes_over_from_the_newest(desk: Any) -> None:
    """DP-KUB-029, 030: with the list last received, whoever sent it."""
    old = desk.plugin(["a"])
    new = desk.plugin(["a", "b"], socket="b.sock")
    assert desk.tables.endpoints.ended(new) is new
    assert desk.tables.endpoints.primary[R] is old
    assert desk.counts() == (2, 2)
    assert desk.tables.endpoints.connections(R) == (old,)
    desk.tables.endpoints.ended(old)
    assert desk.counts() == (2, 0)


def test_a_pair_in_use_is_refused_after_the_dial(desk: Any) -> None:
    """DP-KUB-027 in 1.37: only a name of its own for every instance is safe."""
    desk.plugin(["a"])
    again = desk.tables.endpoints.register(R, "a.sock")
    with pytest.raises(Refused, match=r"already connected: a.sock") as refused:
        desk.tables.endpoints.connect(again, Options())
    assert refused.value.code == Code.UNKNOWN


def damaged(desk: Any) -> Any:
    """A plugin whose slot saw a Register that was refused."""
    connection = desk.plugin(["a"])
    again = desk.tables.endpoints.register(R, "a.sock")
    with pytest.raises(Refused):
        desk.tables.endpoints.connect(again, Options())
    return connection


def test_after_a_refusal_the_end_of_the_older_stream_goes_unseen(desk: Any) -> None:
    """DP-KUB-028, 066 in 1.37: devices stay allocatable, and that socket stays refused."""
    connection = damaged(desk)
    assert not desk.tables.endpoints.noticed(connection)
    assert desk.tables.endpoints.ended(connection) is None
    desk.clock.now += 3600
    assert desk.counts() == (1, 1)
    again = desk.tables.endpoints.register(R, "a.sock")
    with pytest.raises(Refused, match="already connected"):
        desk.tables.endpoints.connect(again, Options())


def test_after_a_refusal_other_sockets_work_but_their_end_frees_nothing(desk: Any) -> None:
    """DP-KUB-066, 067: the forgotten one counts as alive, and calls go to its socket again."""
    connection = damaged(desk)
    desk.tables.endpoints.ended(connection)
    other = desk.plugin(["a", "b"], socket="b.sock")
    assert desk.tables.endpoints.ended(other) is other
    assert desk.counts() == (2, 2)
    assert desk.tables.endpoints.primary[R] is connection


def test_a_better_kubelet_sees_the_end_all_the_same(kubelet: Any) -> None:
    """What DP-KUB-066 asks of a client."""
    desk = kubelet("ideal")
    connection = damaged(desk)
    assert desk.tables.endpoints.ended(connection) is connection
    assert desk.counts() == (1, 0)
    assert register(desk, "a.sock").stopped is None


def test_a_restart_on_the_same_socket_works_once_the_end_was_seen(desk: Any) -> None:
    """No waiting is needed, only the right order."""
    old = desk.plugin(["a"])
    desk.tables.endpoints.ended(old)
    new = desk.plugin(["a"])
    assert desk.counts() == (1, 1)
    assert desk.tables.endpoints.primary[R] is new


def test_development_code_answers_without_a_dial_and_evicts_late(kubelet: Any) -> None:
    """DP-KUB-027, 028 in `main`: nobody dials the new instance, then the old end takes it all."""
    desk = kubelet("main")
    old = desk.plugin(["a"])
    assert desk.tables.endpoints.register(R, "a.sock") is None
    assert desk.tables.endpoints.ended(old) is old
    assert desk.counts() == (1, 0)
    assert desk.tables.endpoints.register(R, "a.sock") is not None


@pytest.mark.parametrize(("profile", "seen"), [("1.35", False), ("1.37", False), ("ideal", True)])
def test_a_register_that_fails_forgets_whoever_had_the_slot(
    kubelet: Any, profile: str, seen: bool
) -> None:
    """Dial or options: not only a refusal does the damage."""
    desk = kubelet(profile)
    connection = desk.plugin(["a"])
    desk.tables.endpoints.fail(desk.tables.endpoints.register(R, "a.sock"))
    assert desk.tables.endpoints.ended(connection) is (connection if seen else None)
    assert desk.counts() == ((1, 0) if seen else (1, 1))


def test_options_that_fail_leave_nothing(desk: Any) -> None:
    """DP-KUB-007: no resource, nobody to call."""
    desk.tables.endpoints.fail(desk.tables.endpoints.register(R, "a.sock"))
    assert desk.counts() is None
    assert R not in desk.tables.endpoints.primary


def test_a_watched_socket_that_goes_counts_as_the_end(desk: Any) -> None:
    """An unknown one does not."""
    connection = desk.plugin(["a"])
    assert desk.tables.endpoints.leave(R, "other.sock") is None
    assert desk.tables.endpoints.leave(R, "a.sock") is connection
    assert desk.counts() == (1, 0)


def test_options_are_those_that_the_plugin_answered(desk: Any) -> None:
    """DP-KUB-009: RegisterRequest.options plays no part."""
    connection = desk.plugin(["a"], pre_start=True)
    assert connection.options == Options(pre_start=True)


def test_a_watched_socket_that_goes_during_the_dial_is_not_counted(desk: Any) -> None:
    """There is a connection to close, and no resource to lose."""
    connection = desk.tables.endpoints.register(R, "a.sock")
    assert desk.tables.endpoints.leave(R, "a.sock") is connection
    assert desk.counts() is None


def test_a_plugin_that_ends_before_its_first_list_leaves_a_resource_of_none(desk: Any) -> None:
    """Registered, 0 of 0, and gone after the grace period."""
    connection = register(desk, "a.sock")
    desk.tables.endpoints.ended(connection)
    assert desk.counts() == (0, 0)
    desk.clock.now += 301
    assert desk.state.count().removed == (R,)
