"""Execs: found, repeated while busy, told to observers."""

import errno
from collections.abc import Callable

import pytest

from refimpl.cni.runtime import Attachment, PluginUnusable, Runtime
from tests.cni.runtime.conftest import RESULT, Plugins, network

BUSY = OSError(errno.ETXTBSY, "Text file busy")


def test_a_plugin_that_is_being_written_is_tried_again(
    runtime: Callable[..., Runtime], plugins: Plugins, attachment: Attachment
) -> None:
    """RT-054: six times, a second apart."""
    waits: list[float] = []
    plugins.answers["one ADD"] = [BUSY, BUSY, RESULT]
    runtime(pause=waits.append).add(network("one"), attachment)
    assert (plugins.order, waits) == (["one ADD"] * 3, [1.0, 1.0])


@pytest.mark.parametrize(("profile", "times"), [("strict", 6), ("libcni", 1)])
def test_one_that_stays_busy_is_given_up(
    runtime: Callable[..., Runtime], plugins: Plugins, profile: str, times: int
) -> None:
    """libcni means to repeat, but what it repeats cannot be started twice."""
    plugins.answers["one STATUS"] = BUSY
    with pytest.raises(PluginUnusable, match="was being written"):
        runtime(profile).status(network("one"))
    assert plugins.order == ["one STATUS"] * times


def test_the_directories_are_sent_in_order(
    plugins: Plugins, tmp_path: object, attachment: Attachment
) -> None:
    """RT-004."""
    ours = Runtime(["/a", plugins.folder, "/b"], f"{tmp_path}/cache", executor=plugins)
    ours.add(network("one"), attachment)
    assert plugins.asked[0].env["CNI_PATH"] == f"/a:{plugins.folder}:/b"
