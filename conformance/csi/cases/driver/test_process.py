"""A driver as a process: how it starts, what it leaves beside its socket, how it ends."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from conformance.csi.capabilities import ask
from conformance.csi.common import process_lifecycle
from conformance.csi.common.process_lifecycle import Probed, ProcessLifecycle, Start
from conformance.csi.needs import SUPERVISED
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, should, timeout, together
from refimpl.wire.status import Code

# All of these look at one process, which costs two starts.
pytestmark = pytest.mark.xdist_group("process")


@pytest.fixture(scope="session")
def lifecycle(driver: CsiTarget) -> ProcessLifecycle | None:
    """What was seen of a process of our own; None where the suite cannot start one."""
    return process_lifecycle.observe(driver) if driver.command else None


def _expect_started(start: Start | None, rule: str) -> None:
    wanted = f"ready within {timeout(process_lifecycle.START_S):g} s"
    expect(not _failure(start), rule, wanted=wanted, got=_failure(start))


def _failure(start: Start | None) -> str:
    return start.failure if start else "it did not come that far"


@case("CSI-PROTO-001", "CSI 1.13 Connectivity, CSI_ENDPOINT", needs=[SUPERVISED])
def test_a_started_driver_serves_at_the_endpoint_it_was_given(lifecycle: ProcessLifecycle) -> None:
    """The supervisor names the socket in CSI_ENDPOINT and connects there; it has no other way to
    find the driver. What the command is told as {endpoint} is the same value."""
    _expect_started(lifecycle.first, "a driver creates the socket it was told and answers there")


@case("CSI-PROTO-002", "robustness: killed drivers leave their socket", needs=[SUPERVISED])
def test_a_driver_starts_over_the_socket_of_a_killed_one(lifecycle: ProcessLifecycle) -> None:
    """After a kill nobody removes the socket file; a driver that stumbles over it stays down until
    someone logs in to the node."""
    _expect_started(lifecycle.first, "a driver starts")
    _expect_started(lifecycle.second, "a driver starts where a killed one has left its socket")


@case("CSI-PROTO-003", "CSI 1.13 Filesystem", needs=[SUPERVISED])
def test_a_driver_puts_nothing_beside_its_socket(lifecycle: ProcessLifecycle) -> None:
    """The directory belongs to the supervisor; kubelet takes what lies there for other sockets."""
    _expect_started(lifecycle.first, "a driver starts")
    assert lifecycle.before is not None
    expect(
        lifecycle.before.beside == [lifecycle.socket],
        "a driver creates no file or directory beside its socket",
        wanted=[lifecycle.socket],
        got=lifecycle.before.beside,
    )


@case("CSI-PROTO-014", "robustness: the end of a pod", needs=[SUPERVISED])
def test_sigterm_ends_a_driver_in_good_order(lifecycle: ProcessLifecycle) -> None:
    """Every update of a driver ends one: a call cut off at a bad moment leaves half a volume, a
    socket left behind leads callers to nobody. CANCELLED is as good as UNAVAILABLE: gRPC ends so
    what a server had not begun, and callers repeat both."""
    _expect_started(lifecycle.second, "a driver starts again")
    assert lifecycle.ending is not None
    with together() as check:
        with check:
            expect(
                set(lifecycle.ending.last) <= {Code.UNAVAILABLE, Code.CANCELLED},
                "on SIGTERM calls are finished, or end as UNAVAILABLE",
                wanted="UNAVAILABLE for each caller's last call",
                got=", ".join(code.name for code in lifecycle.ending.last),
            )
        with check:
            expect(
                lifecycle.ending.status == 0,
                "on SIGTERM a driver ends by itself, with status 0",
                wanted="0",
                got=lifecycle.ending.status,
            )
        with check:
            expect(
                lifecycle.socket not in lifecycle.ending.left,
                "a driver that ends removes its socket",
                wanted="no socket",
                got=lifecycle.ending.left,
            )


@pytest.mark.looks_back
@case("CSI-ID-008", "CSI 1.13 GetPluginCapabilities")
def test_capabilities_stay_as_they_are(csi: CsiTarget, lifecycle: ProcessLifecycle | None) -> None:
    """The sidecars ask once and never again. Asked before the first case and late in the run, which
    is the load between, and (where the suite can start the driver) before and after a restart."""
    advertised = [csi.capabilities, ask(csi.driver, csi.nodes[0])]
    if lifecycle and lifecycle.before and lifecycle.after:
        advertised += [lifecycle.before.capabilities, lifecycle.after.capabilities]
    first = advertised[0]
    with together() as check:
        for other in advertised[1:]:
            with check:
                changed = sorted(first.names ^ other.names)
                expect(
                    other.version != first.version or not changed,
                    f"version {first.version} of a driver has the same capabilities at all times",
                    wanted="no change",
                    got=f"{', '.join(changed)}: advertised at one time and not at another",
                )
        if lifecycle:
            rule = "capabilities can be compared before and after a restart"
            with check:
                should(
                    lifecycle.after,
                    rule,
                    wanted="a restart",
                    got=_failure(lifecycle.second or lifecycle.first),
                )


@case("CSI-ID-015", "CSI 1.13 Probe", needs=[SUPERVISED])
def test_a_starting_driver_becomes_ready_once(lifecycle: ProcessLifecycle) -> None:
    """The sidecars probe a starting driver each second: any error but these ends them, and one that
    was ready is sent work from then on."""
    _expect_started(lifecycle.first, "a driver starts")
    before, after = _at_ready(lifecycle.first.probes)
    strange = [str(probe) for probe in before if probe.code not in _STARTING]
    with together() as check:
        with check:
            expect(
                not strange,
                "until a driver is ready, Probe answers OK or FAILED_PRECONDITION once there is a"
                " socket",
                wanted="OK, FAILED_PRECONDITION, or nobody there",
                got=strange,
            )
        fallen = [str(probe) for probe in after if not probe.is_ready]
        with check:
            expect(not fallen, "a driver that is ready stays ready", wanted="ready", got=fallen)


_STARTING = {Code.OK, Code.FAILED_PRECONDITION, Code.UNAVAILABLE}


def _at_ready(probes: Collection[Probed]) -> tuple[list[Probed], list[Probed]]:
    every = list(probes)
    ready = next(index for index, probe in enumerate(every) if probe.is_ready)
    return every[:ready], every[ready:]
