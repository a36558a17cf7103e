"""How a plugin under test is named, started, ended and told of its place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from conformance.deviceplugin.plugins.target import PluginTarget
from conformance.deviceplugin.settings import DpSettings
from conformance.engine.options import BadOption
from refimpl.deviceplugin import illusion

Open = Callable[..., PluginTarget]
OURS = (sys.executable, "-m", "refimpl", "serve", "deviceplugin", "--dir", "{kubelet}")


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
    plugin = target.look()
    assert plugin.hooks.has("break_device")
    assert not plugin.hooks.has("mend_device")
    with plugin.hooks.broken("nic-1"):
        assert log.read_text() == f"nic-1 {plugin.folder.parent}\n"
    assert plugin.session.spoilt


@pytest.mark.parametrize(
    "chosen",
    [
        {"env": {"FOLDER": "{root}"}},
        {"empty_command": ["true", "{root}"]},
        {"hooks": {"break_device": ["true", "{root}", "{id}"]}},
        {"cdi_dirs": ("{root}/cdi",)},
    ],
    ids=lambda chosen: next(iter(chosen)),
)
def test_an_unknown_placeholder_of_a_setting_is_told(opened: Open, chosen: dict[str, Any]) -> None:
    """As one of the command is."""
    with pytest.raises(BadOption, match=r"there is no placeholder \{root\}"):
        opened("fake", "true", "{kubelet}", **chosen)


def test_a_plugin_that_is_started_again_finds_what_it_kept(opened: Open) -> None:
    """{dir} is its own until the session ends, and {cdi} is there to be written to."""
    script = 'echo started >> "$0/starts"; touch "$1/vendor.json"; exec sleep 60'
    target = opened("fake", "sh", "-c", script, "{dir}", "{cdi}", illusion="never")
    plugin = target.look()

    def started(times: int) -> bool:
        starts = target.sessions.place().own / "starts"
        return starts.exists() and starts.read_text() == "started\n" * times

    plugin.until(lambda: started(1), "it has started")
    plugin.kill()
    plugin.start_again()
    plugin.until(lambda: started(2), "it has started again")
    plugin.fresh()
    plugin.until(lambda: started(1), "it has started in a new session")
    (folder, *_) = target.sessions.cdi_dirs
    plugin.until((folder / "vendor.json").exists, "it has written its CDI file")


def test_cdi_files_are_looked_for_where_the_plugin_was_told_to_put_them(opened: Open) -> None:
    """Besides where they lie on a node."""
    opened_plain = opened("fake", "true", "{kubelet}").sessions.setup
    opened_told = opened("fake", "true", "{kubelet}", env={"CDI": "{cdi}"}).sessions.setup
    assert opened_plain.cdi_dirs == DpSettings().cdi_dirs
    assert opened_told.cdi_dirs == ("{cdi}", *DpSettings().cdi_dirs)
