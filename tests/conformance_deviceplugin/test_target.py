"""What the device suites can be aimed at."""

from __future__ import annotations

import re
import sys

import pytest

from conformance.deviceplugin.target import open_target
from conformance.engine.cases import found
from conformance.engine.interfaces import side_of
from conformance.engine.options import BadOption
from refimpl.wire.client import Unreachable
from tests.targets import resolved


@pytest.mark.parametrize(
    ("target", "command", "side", "more", "said"),
    [
        ("/some/socket", (), "", {}, "a device plugin is named as fake; -- COMMAND"),
        ("fake:nobody", (), "", {}, "fake:nobody: there is fake:healthy"),
        ("fake", (), "", {"revision": "1.2"}, "there is kubernetes-1.27"),
        ("fake:2.0", (), "client", {}, "fake:2.0: there is 1.27"),
        ("nothing:at-all", (), "client", {}, "a client is named as fake; -- COMMAND"),
        ("fake", ("no-such-kubelet", "{config}"), "client", {}, "no-such-kubelet"),
        ("fake", ("plugin", "{root}"), "", {}, "there is no placeholder {root}"),
        ("fake", ("plugin", "{config}"), "", {}, "{config} is the file of a kubelet's"),
        ("fake", ("kubelet", "{cdi}"), "client", {}, "{cdi} is the folder of CDI files, and"),
    ],
)
def test_what_makes_no_sense_is_said_before_the_first_case(
    target: str, command: tuple[str, ...], side: str, more: dict[str, str], said: str
) -> None:
    """With what would."""
    with pytest.raises(BadOption, match=re.escape(said)):
        open_target(resolved("deviceplugin", target, *command, side=side, **more))


def test_a_program_that_is_no_plugin_is_out_of_reach() -> None:
    """One sentence instead of a failure for each case."""
    command = (sys.executable, "-c", "raise SystemExit('no plugin')", "{kubelet}")
    with pytest.raises(Unreachable, match=r"neither calls Register .*\n.*status 1"):
        open_target(resolved("deviceplugin", "fake", *command))


@pytest.mark.parametrize(
    ("target", "command", "side", "sides"),
    [
        ("fake", ("plugin",), "", {"plugin"}),
        ("kubelet", (), "client", {"client"}),
        ("fake", (), "", {"plugin", "client"}),
    ],
)
def test_cases_are_about_the_side_under_test(
    target: str, command: tuple[str, ...], side: str, sides: set[str]
) -> None:
    """A kubelet is not judged as a plugin, and all rows are about one of the two."""
    under_test = resolved("deviceplugin", target, *command, side=side)
    chosen = {id for id in found("deviceplugin") if under_test.judges(id)}
    assert chosen == {id for id in found("deviceplugin") if side_of(id) in sides}
