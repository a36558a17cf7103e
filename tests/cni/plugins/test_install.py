"""Plugins as files."""

from __future__ import annotations

import stat
import subprocess

import pytest

from refimpl.cni.plugins import PluginError, configure, install, settings_of


def test_a_plugin_is_one_executable_and_its_private_settings(tmp_path) -> None:
    """Nothing else is needed: no site-packages, no repository."""
    plugin = install(tmp_path, "p", "hostlocal", versions=["1.0.0", "1.1.0"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p", "p.settings.json"]
    assert stat.S_IMODE(plugin.stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "p.settings.json").stat().st_mode) == 0o600
    first = plugin.read_bytes().split(b"\n")[0]
    assert first.startswith(b"#!/")
    assert first.endswith(b" -IS")
    done = subprocess.run(
        [plugin], env={"CNI_COMMAND": "VERSION"}, input=b"{}", capture_output=True, check=True
    )
    assert done.stdout == b'{"cniVersion":"1.1.0","supportedVersions":["1.0.0","1.1.0"]}\n'


def test_settings_are_read_at_every_call(tmp_path) -> None:
    """A test breaks a plugin between two calls."""
    plugin = install(tmp_path, "p", "recorder", kernel=tmp_path / "k")
    assert settings_of(plugin)["kernel"] == str(tmp_path / "k")
    assert settings_of(plugin)["journal"] == str(tmp_path / "p.journal.jsonl")
    configure(plugin, faults=[{"do": "exit", "status": 7}])
    run = lambda: subprocess.run([plugin], env={}, stdin=subprocess.DEVNULL).returncode  # noqa: E731
    assert run() == 7
    configure(plugin, faults=None)
    assert run() == 0
    assert "faults" not in settings_of(plugin)


def test_installing_again_replaces_the_plugin_and_its_settings(tmp_path) -> None:
    """And forgets what was counted."""
    plugin = install(tmp_path, "p", "recorder", faults=[{"do": "exit", "status": 7, "times": 1}])
    run = lambda: subprocess.run([plugin], env={}, stdin=subprocess.DEVNULL).returncode  # noqa: E731
    assert [run(), run()] == [7, 0]
    install(tmp_path, "p", "recorder", faults=[{"do": "exit", "status": 7, "times": 1}])
    assert [run(), run()] == [7, 0]


@pytest.mark.parametrize(
    ("name", "kind", "settings"),
    [
        ("a/b", "recorder", {}),
        ("", "recorder", {}),
        ("..", "recorder", {}),
        ("p", "ptp", {}),
        ("p", "recorder", {"versions": []}),
        ("p", "recorder", {"versions": ["2.0.0"]}),
        ("p", "recorder", {"faults": [{"do": "x"}]}),
    ],
)
def test_what_makes_no_plugin_is_refused(tmp_path, name, kind, settings) -> None:
    """Before a file is written."""
    with pytest.raises(PluginError):
        install(tmp_path, name, kind, **settings)
    assert list(tmp_path.iterdir()) == []
