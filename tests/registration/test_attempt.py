"""One attempt, call by call, against scripted plugins.

REG-010 to 012 and 031 are the rules of a handler; here one stands for it that has such rules.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from refimpl.wire.endpoint import Endpoint
from refimpl.wire.status import Code, Refused
from tests.registration.conftest import Scripted, Watched


def test_a_socket_that_appears_is_asked_taken_in_and_told(
    watched: Watched, scripted: Scripted
) -> None:
    """REG-001: in this order, with kubelet's deadlines."""
    watched.watcher.step()
    plugin = scripted()
    watched.registered("driver.example.com")
    assert watched.rpcs() == ["GetInfo OK", "NotifyRegistrationStatus OK"]
    assert [entry.deadline_s for entry in watched.journal.entries] == [1.0, 5.0]
    assert watched.seen == ["register driver.example.com plugin.sock"]
    assert plugin.service.registered
    assert watched.watcher.problems == {}
    registered = watched.watcher.plugins[0]
    assert (registered.type, registered.versions) == ("DRAPlugin", ("v1.DRAPlugin",))


@pytest.mark.usefixtures("hurried")
def test_an_answer_that_comes_too_late_is_a_failure_and_asked_for_again(
    watched: Watched, scripted: Scripted
) -> None:
    """REG-006: after 1 s. The backoff doubles, and ends with the first success."""
    plugin = scripted(start=False)
    plugin.held = {"GetInfo"}
    plugin.start()
    assert "GetInfo: DEADLINE_EXCEEDED" in watched.failed(plugin, 0.5)
    watched.now += 0.5
    watched.failed(plugin, 1.0)
    plugin.held = set()
    watched.now += 1.0
    watched.registered("driver.example.com")
    assert watched.watcher.retry_s(plugin.path) == 0
    assert plugin.calls == ["GetInfo", "GetInfo", "GetInfo", "NotifyRegistrationStatus"]


@pytest.mark.usefixtures("hurried")
def test_a_socket_that_nobody_serves_holds_up_no_other(
    watched: Watched, scripted: Scripted, folder: Path
) -> None:
    """REG-008: stale ones are dialled for 10 s, one that does not speak just as long."""
    with socket.socket(socket.AF_UNIX) as stale, socket.socket(socket.AF_UNIX) as silent:
        stale.bind(str(folder / "a-stale.sock"))
        silent.bind(str(folder / "b-silent.sock"))
        silent.listen()
        scripted("c-good.sock")
        watched.registered("driver.example.com")
        watched.until(lambda: len(watched.watcher.problems) == 2)
        problems = watched.watcher.problems
        assert "dial: " in problems[str(folder / "a-stale.sock")]
        assert "sent nothing" in problems[str(folder / "b-silent.sock")]
    assert watched.rpcs() == ["GetInfo OK", "NotifyRegistrationStatus OK"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"type": "Gadget"}, "type 'Gadget' is handled by nobody"),
        ({"versions": ("v1alpha1",)}, "v1beta1 is not among them"),
        ({"versions": ()}, "v1beta1 is not among them"),
        ({"versions": ("1.0.0",)}, "v1beta1 is not among them"),
        ({"plugin": "kubernetes/$"}, "resource name 'kubernetes/$' is none"),
    ],
)
def test_who_is_refused_is_told_why_and_asked_again_later(
    watched: Watched, scripted: Scripted, change: dict[str, str], reason: str
) -> None:
    """REG-009, REG-011, REG-012, REG-031; REG-015 is what the plugin makes of it."""
    device = {"type": "DevicePlugin", "plugin": "example.com/gpu", "versions": ("v1beta1",)}
    plugin = scripted(**{**device, **change})
    assert reason in watched.failed(plugin, 0.5)
    assert [each.registered for each in plugin.service.notified] == [False]
    assert reason in plugin.service.notified[0].error
    assert all(handler.seen == [] for handler in watched.handlers.values())
    watched.now += 0.5
    watched.failed(plugin, 1.0)
    assert len(plugin.service.notified) == 2


def test_one_known_version_is_enough(watched: Watched, scripted: Scripted) -> None:
    """REG-010: the SR-IOV plugin offers an old one as well."""
    versions = ("v1alpha1", "v1beta1")
    scripted(type="DevicePlugin", plugin="example.com/gpu", versions=versions)
    watched.registered("example.com/gpu")


def test_the_service_is_where_the_plugin_says_or_at_the_same_socket(
    watched: Watched, scripted: Scripted, folder: Path
) -> None:
    """REG-013, REG-014."""
    scripted("same.sock", plugin="same")
    scripted("other.sock", plugin="other", endpoint="/run/other/dra.sock")
    watched.registered("other", "same")
    endpoints = {plugin.name: plugin.endpoint for plugin in watched.watcher.plugins}
    assert endpoints == {"same": str(folder / "same.sock"), "other": "/run/other/dra.sock"}


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("how", ["refuses", "hangs"])
def test_who_cannot_be_told_of_success_is_taken_out_again(
    watched: Watched, scripted: Scripted, how: str
) -> None:
    """REG-016, REG-017: after 5 s at the latest, and then tried anew."""
    plugin = scripted(start=False)
    if how == "refuses":
        plugin.refusals = {"NotifyRegistrationStatus": Code.INTERNAL}
    else:
        plugin.held = {"NotifyRegistrationStatus"}
    plugin.start()
    assert "NotifyRegistrationStatus of the success: " in watched.failed(plugin, 0.5)
    one = ["register driver.example.com plugin.sock", "deregister driver.example.com plugin.sock"]
    assert watched.seen == one
    plugin.refusals, plugin.held = {}, set()
    watched.now += 0.5
    watched.registered("driver.example.com")
    assert watched.seen == [*one, one[0]]


def test_a_handler_that_fails_is_told_to_the_plugin_and_tried_again(
    watched: Watched, scripted: Scripted
) -> None:
    """REG-033: for as long as the socket is there."""
    handler = watched.handlers["DRAPlugin"]
    handler.refusal = Refused(Code.INTERNAL, "no options")
    plugin = scripted()
    assert "register: INTERNAL: no options" in watched.failed(plugin, 0.5)
    assert [each.registered for each in plugin.service.notified] == [False]
    handler.refusal = None
    watched.now += 0.5
    watched.registered("driver.example.com")
    assert [each.registered for each in plugin.service.notified] == [False, True]


def test_a_bug_of_a_handler_is_printed_and_does_not_end_the_retries(
    watched: Watched, scripted: Scripted, capfd: pytest.CaptureFixture[str]
) -> None:
    """The handlers are whatever a user of the library gives."""
    handler = watched.handlers["DRAPlugin"]
    handler.refusal = KeyError("oops")
    plugin = scripted()
    assert "bug in the handler: KeyError('oops')" in watched.failed(plugin, 0.5)
    assert "Traceback" in capfd.readouterr().err
    handler.refusal = None
    watched.now += 0.5
    watched.registered("driver.example.com")


def test_a_path_that_is_too_long_is_a_problem_and_no_crash(
    watched: Watched, scripted: Scripted, folder: Path
) -> None:
    """It can be bound over a shorter name of the folder."""
    deep = folder / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    os.rename(scripted(".short.sock").path, deep / "plugin.sock")
    watched.until(lambda: bool(watched.watcher.problems))
    assert "a unix socket's path has at most 107" in next(iter(watched.watcher.problems.values()))


def test_an_endpoint_is_parsed_once_it_is_dialled(scripted: Scripted, watched: Watched) -> None:
    """The journal names the socket as an endpoint."""
    plugin = scripted()
    watched.registered("driver.example.com")
    assert {entry.peer for entry in watched.journal.entries} == {str(Endpoint.parse(plugin.path))}
