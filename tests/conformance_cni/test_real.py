"""What a real plugin's target says of itself before the first case."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from conformance.cni.plugins.real import _module_version, _no_link
from conformance.cni.plugins.subject import PluginSubject
from conformance.cni.settings import CniSettings
from refimpl.cni.host import Host


class _Kernel:
    """A kernel that makes some kinds of links."""

    def __init__(self, *kinds: str) -> None:
        self._kinds = kinds

    def supports(self, kind: str) -> bool:
        """Whether it is one of those."""
        return kind in self._kinds


def _why(name: str, *kinds: str) -> str:
    return _no_link(name, cast("Host", _Kernel(*kinds)))


def test_a_plugin_whose_links_the_kernel_lacks_is_skipped_with_that_reason() -> None:
    """Forty failures would say the same, and none of them what to do."""
    assert _why("ipvlan", "veth") == "this kernel makes no ipvlan links"
    assert _why("bridge") == "this kernel makes no veth and no bridge links"
    assert _why("bridge", "veth", "bridge") == ""
    assert _why("unknown") == ""


def _subject(name: str, ifname: str = "") -> PluginSubject:
    return PluginSubject(f"/opt/{name}", "interface", {}, (), "", CniSettings(ifname=ifname))


def test_loopback_is_asked_for_lo_unless_the_user_says_otherwise() -> None:
    """No runtime asks it for another one."""
    assert _subject("loopback").ifname == "lo"
    assert _subject("loopback", "eth7").ifname == "eth7"
    assert _subject("bridge").ifname == "eth0"


@pytest.mark.parametrize(
    ("noted", "version"),
    [
        (b"\nmod\texample.org/plugins\tv1.10.0\th1:abc=\n", "1.10.0"),
        (b"\nmod\texample.org/plugins\tv1.10.1-0.20260101-abc\t\n", "1.10.1-0.20260101-abc"),
        (b"\nmod\texample.org/plugins\t(devel)\t\n", ""),
        (b"\ndep\texample.org/library\tv1.2.3\t\n", ""),
    ],
)
def test_a_program_that_go_installed_is_known_by_the_version_of_its_module(
    tmp_path: Path, noted: bytes, version: str
) -> None:
    """It prints `version unknown`: only release builds are told their version."""
    program = tmp_path / "bridge"
    program.write_bytes(b"\x7fELF\0\xff\0" + noted + b"\0")
    assert _module_version(program) == version
