"""What the device suites can be aimed at."""

from __future__ import annotations

import contextlib
import re
import sys

import pytest

from conformance.deviceplugin.target import OurSides, open_target
from conformance.engine.cases import found
from conformance.engine.interfaces import side_of
from conformance.engine.options import BadOption
from conformance.engine.scope import CaseScope
from conformance.engine.targets.revision import Revision
from conformance.kubelet.target import ClientTarget
from refimpl.wire.client import Unreachable
from tests.targets import resolved


@pytest.mark.parametrize(
    ("target", "command", "side", "more", "complaint"),
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
    target: str, command: tuple[str, ...], side: str, more: dict[str, str], complaint: str
) -> None:
    """With what would."""
    with pytest.raises(BadOption, match=re.escape(complaint)):
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


@pytest.mark.parametrize("side", ["", "client"])
@pytest.mark.parametrize(
    ("target", "asked", "release"),
    [
        ("fake", "", "1.37"),
        ("fake", "kubernetes-1.30", "1.30"),
        ("mutant:GetsBeforeItsTime", "", "1.33"),
    ],
)
def test_our_fakes_are_judged_by_the_release_that_they_are_of(
    target: str, asked: str, release: str, side: str
) -> None:
    """Rules that hold since a release, or held until one, go by it on both sides."""
    opened = open_target(resolved("deviceplugin", target, side=side, revision=asked))
    with contextlib.closing(opened), contextlib.closing(CaseScope()) as case:
        assert isinstance(opened, OurSides | ClientTarget)
        assert opened.revision == opened.node(case).revision == Revision("kubernetes", release)
        assert opened.node(case).client.profile == release


def test_each_side_of_our_fakes_tells_what_it_lacks() -> None:
    """By the names of the features of both."""
    with contextlib.closing(open_target(resolved("deviceplugin"))) as opened:
        assert isinstance(opened, OurSides)
        assert {opened.lacks[name] for name in ("a device", "break_device", "pods", "clock")} == {
            ""
        }
        with pytest.raises(KeyError):
            _ = opened.lacks["wheels"]
