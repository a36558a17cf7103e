"""Registering anew, and streams that end: where kubelets differ most."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.deviceplugin.state.models import PluginOptions
from refimpl.wire.status import Code, Refused

R = "example.com/gpu"


def register(rig: Any, socket: str) -> Any:
    connection = rig.tables.endpoints.register(R, socket)
    rig.tables.endpoints.connect(connection, PluginOptions())
    return connection


def test_the_end_of_the_only_stream_makes_all_devices_unhealthy(rig: Any) -> None:
    """DP-KUB-021, 022: at once, capacity stays, and the connection is to be closed."""
    connection = rig.plugin(["a", "b"])
    assert rig.tables.endpoints.ended(connection) is connection
    assert rig.counts() == (2, 0)
    assert connection.stopped == rig.clock()
    assert rig.tables.endpoints.ended(connection) is None


def test_with_one_slot_an_old_end_takes_down_the_new_plugin(kubelet: Any) -> None:
    """DP-KUB-026 up to 1.36: who ended is looked up by resource, and that is the newer one."""
    rig = kubelet("1.35")
    old = rig.plugin(["a"])
    new = rig.plugin(["a", "b"], socket="b.sock")
    assert rig.tables.endpoints.primary[R] is new
    assert rig.tables.endpoints.ended(old) is new
    assert rig.counts() == (2, 0)
    assert new.stopped is not None
    assert rig.tables.endpoints.ended(new) is None


def test_with_a_slot_for_each_socket_an_old_end_does_no_harm(rig: Any) -> None:
    """DP-KUB-026 in 1.37."""
    old = rig.plugin(["a"])
    new = rig.plugin(["a", "b"], socket="b.sock")
    assert rig.tables.endpoints.ended(old) is old
    assert rig.counts() == (2, 2)
    assert rig.tables.endpoints.primary[R] is new


def test_a_survivor_takes_over_from_the_newest(rig: Any) -> None:
    """DP-KUB-029, 030: with the list last received, whoever sent it."""
    old = rig.plugin(["a"])
    new = rig.plugin(["a", "b"], socket="b.sock")
    assert rig.tables.endpoints.ended(new) is new
    assert rig.tables.endpoints.primary[R] is old
    assert rig.counts() == (2, 2)
    assert rig.tables.endpoints.connections(R) == (old,)
    rig.tables.endpoints.ended(old)
    assert rig.counts() == (2, 0)


def test_a_pair_in_use_is_refused_after_the_dial(rig: Any) -> None:
    """DP-KUB-027 in 1.37: only a name of its own for every instance is safe."""
    rig.plugin(["a"])
    again = rig.tables.endpoints.register(R, "a.sock")
    with pytest.raises(Refused, match=r"already connected: a.sock") as refused:
        rig.tables.endpoints.connect(again, PluginOptions())
    assert refused.value.code == Code.UNKNOWN


def damaged(rig: Any) -> Any:
    """A plugin whose slot saw a Register that was refused."""
    connection = rig.plugin(["a"])
    again = rig.tables.endpoints.register(R, "a.sock")
    with pytest.raises(Refused):
        rig.tables.endpoints.connect(again, PluginOptions())
    return connection


def test_after_a_refusal_the_end_of_the_older_stream_goes_unseen(rig: Any) -> None:
    """DP-KUB-028, 066 in 1.37: devices stay allocatable, and that socket stays refused."""
    connection = damaged(rig)
    assert not rig.tables.endpoints.noticed(connection)
    assert rig.tables.endpoints.ended(connection) is None
    rig.clock.now += 3600
    assert rig.counts() == (1, 1)
    again = rig.tables.endpoints.register(R, "a.sock")
    with pytest.raises(Refused, match="already connected"):
        rig.tables.endpoints.connect(again, PluginOptions())


def test_after_a_refusal_other_sockets_work_but_their_end_frees_nothing(rig: Any) -> None:
    """DP-KUB-066, 067: the forgotten one counts as alive, and calls go to its socket again."""
    connection = damaged(rig)
    rig.tables.endpoints.ended(connection)
    other = rig.plugin(["a", "b"], socket="b.sock")
    assert rig.tables.endpoints.ended(other) is other
    assert rig.counts() == (2, 2)
    assert rig.tables.endpoints.primary[R] is connection


def test_a_better_kubelet_sees_the_end_all_the_same(kubelet: Any) -> None:
    """What DP-KUB-066 asks of a client."""
    rig = kubelet("ideal")
    connection = damaged(rig)
    assert rig.tables.endpoints.ended(connection) is connection
    assert rig.counts() == (1, 0)
    assert register(rig, "a.sock").stopped is None


def test_a_restart_on_the_same_socket_works_once_the_end_was_seen(rig: Any) -> None:
    """No waiting is needed, only the right order."""
    old = rig.plugin(["a"])
    rig.tables.endpoints.ended(old)
    new = rig.plugin(["a"])
    assert rig.counts() == (1, 1)
    assert rig.tables.endpoints.primary[R] is new


def test_development_code_answers_without_a_dial_and_evicts_late(kubelet: Any) -> None:
    """DP-KUB-027, 028 in `main`: nobody dials the new instance, then the old end takes it all."""
    rig = kubelet("main")
    old = rig.plugin(["a"])
    assert rig.tables.endpoints.register(R, "a.sock") is None
    assert rig.tables.endpoints.ended(old) is old
    assert rig.counts() == (1, 0)
    assert rig.tables.endpoints.register(R, "a.sock") is not None


@pytest.mark.parametrize(("profile", "seen"), [("1.35", False), ("1.37", False), ("ideal", True)])
def test_a_register_that_fails_forgets_whoever_had_the_slot(
    kubelet: Any, profile: str, seen: bool
) -> None:
    """Dial or options: not only a refusal does the damage."""
    rig = kubelet(profile)
    connection = rig.plugin(["a"])
    rig.tables.endpoints.fail(rig.tables.endpoints.register(R, "a.sock"))
    assert rig.tables.endpoints.ended(connection) is (connection if seen else None)
    assert rig.counts() == ((1, 0) if seen else (1, 1))


def test_options_that_fail_leave_nothing(rig: Any) -> None:
    """DP-KUB-007: no resource, nobody to call."""
    rig.tables.endpoints.fail(rig.tables.endpoints.register(R, "a.sock"))
    assert rig.counts() is None
    assert R not in rig.tables.endpoints.primary


def test_a_watched_socket_that_goes_counts_as_the_end(rig: Any) -> None:
    """An unknown one does not."""
    connection = rig.plugin(["a"])
    assert rig.tables.endpoints.leave(R, "other.sock") is None
    assert rig.tables.endpoints.leave(R, "a.sock") is connection
    assert rig.counts() == (1, 0)


def test_options_are_those_that_the_plugin_answered(rig: Any) -> None:
    """DP-KUB-009: RegisterRequest.options plays no part."""
    connection = rig.plugin(["a"], pre_start=True)
    assert connection.options == PluginOptions(pre_start=True)


def test_a_watched_socket_that_goes_during_the_dial_is_not_counted(rig: Any) -> None:
    """There is a connection to close, and no resource to lose."""
    connection = rig.tables.endpoints.register(R, "a.sock")
    assert rig.tables.endpoints.leave(R, "a.sock") is connection
    assert rig.counts() is None


def test_a_plugin_that_ends_before_its_first_list_leaves_a_resource_of_none(rig: Any) -> None:
    """Registered, 0 of 0, and gone after the grace period."""
    connection = register(rig, "a.sock")
    rig.tables.endpoints.ended(connection)
    assert rig.counts() == (0, 0)
    rig.clock.now += 301
    assert rig.state.count().removed == (R,)
