"""What the device suites can be aimed at."""

from __future__ import annotations

import fnmatch
import sys

import pytest

from conformance.deviceplugin.target import concerns, open_target
from conformance.engine.case import side_of
from conformance.engine.cases import found
from conformance.engine.options import BadOption, Options
from refimpl.wire.client import Unreachable


def _options(target: str = "fake", *command: str, side: str = "", **more: object) -> Options:
    return Options(
        interface="deviceplugin",
        target=target,
        command=command,
        side=side,  # type: ignore[arg-type]
        run_id="1",
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (_options("/some/socket"), "a device plugin is judged as -- COMMAND"),
        (_options("fake:nobody"), "fake:nobody: there is fake:healthy"),
        (_options("fake", revision="1.2"), "there is 1.27"),
        (_options("fake:2.0", side="client"), "fake:2.0: there is 1.27"),
        (_options("nothing:at-all", side="client"), "a client is judged as -- COMMAND"),
        (_options("fake", "no-such-kubelet", "{config}", side="client"), "no-such-kubelet"),
    ],
)
def test_what_makes_no_sense_is_said_before_the_first_case(options: Options, said: str) -> None:
    """With what would."""
    with pytest.raises(BadOption, match=said):
        open_target(options)


def test_a_program_that_is_no_plugin_is_out_of_reach() -> None:
    """One sentence instead of a failure for each case."""
    options = _options("fake", sys.executable, "-c", "raise SystemExit('no plugin')", "{dir}")
    with pytest.raises(Unreachable, match=r"neither calls Register .*\n.*status 1"):
        open_target(options)


@pytest.mark.parametrize(
    ("options", "sides"),
    [
        (_options("fake", "plugin"), {"plugin"}),
        (_options("kubelet", side="client"), {"client"}),
        (_options("fake"), {"plugin", "client"}),
    ],
)
def test_cases_are_about_the_side_under_test(options: Options, sides: set[str]) -> None:
    """A kubelet is not judged as a plugin, and all rows are about one of the two."""
    globs = concerns(options)
    chosen = {id for id in found("deviceplugin") for glob in globs if fnmatch.fnmatchcase(id, glob)}
    assert chosen == {id for id in found("deviceplugin") if side_of(id) in sides}
