"""How a plugin under test is opened, kept for the next case, renewed, and told to be lost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.deviceplugin.bench import PluginTarget, open_plugin
from conformance.deviceplugin.settings import DpSettings
from conformance.engine.options import BadOption
from conformance.engine.scope import CaseScope
from conformance.engine.verdict import Broken
from refimpl.deviceplugin import illusion
from refimpl.wire.journal import Journal
from tests.targets import resolved

Open = Callable[..., PluginTarget]
OURS = (sys.executable, "-m", "refimpl", "serve", "deviceplugin", "--dir", "{kubelet}")


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens targets and closes them."""
    targets: list[PluginTarget] = []

    def make(target: str = "fake", *command: str, revision: str = "", **chosen: Any) -> Any:
        settings = DpSettings(**chosen)
        under_test = resolved(
            "deviceplugin", target, *command, revision=revision, settings=settings
        )
        targets.append(open_plugin(under_test, Journal()))
        return targets[-1]

    yield make
    for target in targets:
        target.close()


@pytest.mark.parametrize(
    ("target", "command", "revision", "complaint"),
    [
        ("fake:nobody", (), "", "fake:nobody: there is fake:healthy"),
        ("fake", (), "1.2", "--revision 1.2: there is kubernetes-1.27"),
        ("fake", ("no-such-plugin", "{kubelet}"), "", "no-such-plugin: there is no such program"),
        ("mutant:Nobody", (), "", "deviceplugin has no mutant of that name"),
    ],
)
def test_what_cannot_be_opened_is_told(
    opened: Open, target: str, command: tuple[str, ...], revision: str, complaint: str
) -> None:
    """Before anything is started."""
    with pytest.raises(BadOption, match=complaint):
        opened(target, *command, revision=revision)


def test_a_command_that_needs_the_real_path_needs_namespaces(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would register with the node's own kubelet."""
    monkeypatch.setattr(illusion, "obstacle", lambda: "unshare: not permitted")
    with pytest.raises(BadOption, match="cannot be shown to it at /var/lib/kubelet: unshare"):
        opened("fake", "true")
    assert opened("fake", "true", "{kubelet}").name == "true"
    assert opened("fake", "true", illusion="never").name == "true"


def test_the_name_is_that_of_the_program(opened: Open) -> None:
    """Behind env as well, and the revision that of the kubelet around it."""
    target = opened("fake", "env", "A=b", "/bin/true", "{kubelet}", version="7", revision="v1.34")
    assert (target.name, target.version) == ("true", "7")
    assert str(target.revision) == "kubernetes-1.34"


def test_cases_share_a_life_until_one_of_them_spoils_it(opened: Open) -> None:
    """Starting anew for each of them would be most of the time."""
    target, case = opened(), CaseScope()
    first = target.plugin(case)
    life = target.life
    first.link()
    case.close()
    second = target.plugin(case)
    assert target.life is life
    second.kill()
    case.close()
    third = target.plugin(case)
    assert target.life is not life
    assert third.link().connection.resource == "example.com/gpu"


def test_a_life_whose_connection_broke_is_not_handed_on(opened: Open) -> None:
    """Without the case having to say so."""
    target, case = opened("mutant:NeverMissesItsStream"), CaseScope()
    plugin = target.plugin(case)
    link, life = plugin.link(), target.life
    plugin.drop()
    plugin.until(lambda: link.ended, "the stream is over")
    case.close()
    target.plugin(case)
    assert target.life is not life


def test_a_plugin_that_ends_by_itself_is_lost_and_comes_back(opened: Open) -> None:
    """One that the case has ended is not."""
    target = opened("fake", sys.executable, "-c", "import sys; sys.exit('no devices')", "{kubelet}")
    plugin = target.look()
    with pytest.raises(Broken, match="no devices"):
        plugin.arrival()
    lost = target.lost()
    assert lost is not None
    assert lost.revived
    assert "it ended with status 1" in lost.reason
    assert "no devices" in lost.reason
    assert target.lost() is None
    target.look().may_exit()
    assert target.lost() is None


def test_after_a_plugin_that_never_came_the_next_wait_is_short(opened: Open) -> None:
    """A suite of 80 cases that wait for half a minute each helps nobody."""
    target = opened("mutant:NeverRegisters")
    assert target.patience(30.0) > 1.0
    with pytest.raises(Broken, match="the plugin registers a resource"):
        _ = target.look().resource
    assert target.patience(30.0) == 1.0


def test_a_command_runs_with_its_placeholders_filled_in(opened: Open) -> None:
    """And ends with SIGTERM, without its socket; of SIGKILL that stays."""
    target = opened("fake", *OURS, "--resource", "{resource}=2", resource="example.com/nic")
    plugin = target.look()
    assert plugin.ids() == ["nic-0", "nic-1"]
    assert plugin.process.measures()
    name = plugin.socket.path.rpartition("/")[2]
    assert plugin.sockets() == [name]
    assert plugin.terminate() == 0
    assert plugin.sockets() == []
    plugin.start_again()
    plugin.link()
    plugin.kill()
    assert plugin.process.status() == -9
    assert len(plugin.sockets()) == 1


def test_our_plugin_ends_as_a_process_would(opened: Open) -> None:
    """It is none."""
    plugin = opened().look()
    plugin.link()
    assert plugin.terminate() == 0
    assert plugin.sockets() == []
    plugin.start_again()
    plugin.link()
    plugin.kill()
    assert plugin.process.status() == -9
    assert len(plugin.sockets()) == 1
    assert not plugin.process.alive()


def test_a_hook_is_run_with_the_id_filled_in(opened: Open, tmp_path: Any) -> None:
    """And without one there is none."""
    log = tmp_path / "told"
    hooks = {"break_device": ["sh", "-c", f"echo {{id}} {{kubelet}} > {log}"]}
    target = opened("fake", *OURS, "--resource", "example.com/nic=2", hooks=hooks)
    assert target.hooked("break_device")
    assert not target.hooked("mend_device")
    plugin = target.look()
    with plugin.broken("nic-1"):
        assert log.read_text() == f"nic-1 {plugin.folder.parent}\n"
    assert plugin.spoilt


def test_a_call_can_be_repeated_from_a_shell(opened: Open) -> None:
    """To the plugin as well as to kubelet."""
    target = opened()
    plugin = target.look()
    mark = target.mark()
    plugin.options()
    call = target.calls(mark)[-1]
    assert plugin.socket.path in target.reproduce(call)
    registered = plugin.registrations()[0]
    assert f"{plugin.folder}/kubelet.sock" in target.reproduce(registered)
