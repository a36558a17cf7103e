"""How a runtime finds the program of a plugin, and what follows where it cannot be run."""

from __future__ import annotations

import os
import threading

from conformance.cni.needs import SEVERAL_BIN_DIRS
from conformance.cni.runtimes.checks import undone
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import pod_session
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.plugins import configure

SPEC = "CNI 1.1 Execution protocol"


@case("CNI-RT-001", SPEC, needs=[SEVERAL_BIN_DIRS], alone=True)
def test_the_first_directory_with_a_plugin_of_that_name_counts(runtime: RuntimeUnderTest) -> None:
    """Who installs a fixed plugin in front of the distribution's must get that one; a directory of
    the same name is no plugin.
    """
    recorders, second = runtime.recorders, runtime.subject.bin_dirs[1]
    recorders.note(recorders.path("d")).mkdir()
    recorders.install("d", second)
    recorders.install("e")
    shadowed = recorders.install("e", second)
    configure(shadowed, name="refimpl-shadowed")
    runtime.use("d", "e")
    runtime.started()
    expect(
        [call.step for call in runtime.calls("ADD")] == ["d ADD", "e ADD"],
        "plugins are taken from the first directory that has a file of their name",
        wanted="d of the second directory, where the first has a folder; e of the first",
        got=runtime.steps(),
    )


@case("CNI-RT-002", SPEC, alone=True)
def test_a_plugin_that_cannot_be_run_fails_the_add_and_the_others_are_deleted(
    runtime: RuntimeUnderTest,
) -> None:
    """The plugin before it holds an address by then; without DEL that is lost until somebody
    notices that none are left (seen in the field: containerd#12130).
    """
    rule, wanted = "ADD with a plugin that cannot be run fails, and DEL follows", "error and DEL"
    with together() as check:
        path = runtime.recorders.note(runtime.recorders.path("x"))
        for name, content, mode in (
            ("a missing program", None, 0),
            ("one that is not executable", b"#!/bin/sh\n", 0o644),
            ("one of a wrong format", b"\x7fNOT", 0o755),
        ):
            runtime.recorders.install("x")  # some runtimes look at the programs when they load
            runtime.use("a", "x")
            path.unlink()
            if content is not None:
                path.write_bytes(content)
                path.chmod(mode)
            pod, place = runtime.pod(), runtime.seen()
            if not runtime.attempt(pod):
                check.found(f"{rule}: {name}", wanted, "the pod runs")
            path.unlink(missing_ok=True)
            runtime.recorders.install("x")
            check.found(f"{rule}: {name}", wanted, undone(runtime, pod, place))


@case("CNI-RT-004", SPEC, alone=True)
def test_the_search_path_is_what_is_configured(runtime: RuntimeUnderTest) -> None:
    """A plugin finds its delegates there, in that order."""
    wanted = os.pathsep.join(map(str, runtime.subject.bin_dirs))
    with together() as check:
        for call in pod_session(runtime).calls:
            with check:
                expect(
                    call.env.get("CNI_PATH") == wanted,
                    f"CNI_PATH of {call.step} has the plugin directories in their order",
                    wanted=wanted,
                    got=call.env.get("CNI_PATH"),
                )


@case("CNI-RT-054", "practice: libcni", alone=True)
def test_a_plugin_that_is_being_written_is_tried_again(runtime: RuntimeUnderTest) -> None:
    """An update of the plugins must cost no pod its network."""
    runtime.tell("a", {"do": "hang", "seconds": 0})  # a process, so that the kernel has a say
    runtime.use("a")
    refusals: list[str] = []
    pod = runtime.pod()
    running = threading.Thread(target=lambda: refusals.append(runtime.attempt(pod)))
    with runtime.recorders.path("a").open("r+b"):
        running.start()
        running.join(0.3)
    running.join()
    expect(
        refusals == [""],
        "a plugin whose file is being written is tried again",
        wanted="the pod runs",
        got=refusals[0] or "nothing",
    )
