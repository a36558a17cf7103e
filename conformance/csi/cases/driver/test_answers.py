"""What holds for every answer, whichever RPC gives it: calls of every RPC, and of the whole run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from conformance.csi import rpcs
from conformance.csi.common import every_rpc, watch
from conformance.csi.common.refusals import code_of
from conformance.csi.needs import REVISION_1_13
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, should, together
from refimpl.csi.kubelet import Driver
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry
from refimpl.wire.status import Code

Calls = Sequence[Entry]

_AT_THE_CONTROLLER: tuple[str, ...] = (
    "Identity",
    "Controller",
    "GroupController",
    "SnapshotMetadata",
)
_AT_A_NODE: tuple[str, ...] = ("Identity", "Node")


@pytest.fixture(scope="module")
def answers(driver: CsiTarget) -> Calls:
    """One good call or more of every RPC that is advertised."""
    with driver.cleanup.trial():
        return every_rpc.answers(driver)


@pytest.fixture(scope="module")
def refusals(driver: CsiTarget) -> Calls:
    """Bad calls of every RPC that is advertised."""
    with driver.cleanup.trial():
        return every_rpc.refusals(driver)


def _found(csi: CsiTarget, calls: Calls, watcher: Callable[[Entry], list[str]]) -> list[str]:
    """What is wrong with the calls made for these cases and with those of the run so far, each
    kind once.

    Calls to processes that cases started for themselves are left out: some were killed in them.
    """
    ours = {str(endpoint) for endpoint in (csi.endpoint, *csi.node_endpoints)}
    seen = {entry.seq: entry for entry in calls}
    seen |= {entry.seq: entry for entry in csi.journal.entries if entry.peer in ours}
    return list(dict.fromkeys(text for entry in seen.values() for text in watcher(entry)))


@pytest.mark.looks_back
@case("CSI-PROTO-004", "CSI 1.13 Connectivity")
def test_every_rpc_that_is_advertised_is_there(csi: CsiTarget, refusals: Calls) -> None:
    """All services of a driver are at its address; a caller that read the capabilities has nowhere
    else to go. What the bad calls of this module have shown is not asked again."""
    seen: dict[tuple[str, str], Code] = {}
    for entry in refusals:
        seen.setdefault((entry.peer, entry.method), entry.code)  # the first request was empty
    nodes = zip(csi.node_endpoints, csi.nodes, strict=True)
    places = [(csi.endpoint, csi.driver, _AT_THE_CONTROLLER)]
    places += [(endpoint, node, _AT_A_NODE) for endpoint, node in nodes]
    missing = [
        f"{rpc.name} at {endpoint}"
        for endpoint, driver, services in places
        for rpc in rpcs.of(*services)
        if rpc.due(csi.capabilities) and _code(seen, endpoint, driver, rpc) == Code.UNIMPLEMENTED
    ]
    expect(
        not missing,
        "an RPC that the capabilities promise is implemented at the driver's address",
        wanted="any other status than UNIMPLEMENTED, also for an empty request",
        got=missing,
    )


def _code(
    seen: dict[tuple[str, str], Code], endpoint: Endpoint, driver: Driver, rpc: rpcs.Rpc
) -> Code:
    """What an empty request is answered with at this endpoint; asked where that is not known."""
    key = str(endpoint), rpc.method
    if key not in seen:
        seen[key] = code_of(partial(rpcs.call, driver, rpc, rpc.request()))
    return seen[key]


@pytest.mark.looks_back
@case("CSI-PROTO-007", "CSI 1.13 Error Scheme")
def test_no_refusal_carries_status_details(csi: CsiTarget, refusals: Calls) -> None:
    """Orchestrators read code and message only; what a driver hides in details is lost, and the
    field is kept free for a later specification."""
    problems = _found(csi, refusals, watch.details)
    expect(not problems, "a refusal has empty status details", wanted="none", got=problems)


@pytest.mark.looks_back
@case("CSI-PROTO-008", "CSI 1.13 Error Scheme")
def test_every_refusal_says_why(csi: CsiTarget, refusals: Calls) -> None:
    """The message ends up in the events of the claim, often as the only thing a user ever sees."""
    problems = _found(csi, refusals, watch.message)
    expect(not problems, "a refusal has a message for people", wanted="readable text", got=problems)


@pytest.mark.looks_back
@case("CSI-PROTO-009", "CSI 1.13 Error Scheme")
def test_no_refusal_is_unknown_or_internal(csi: CsiTarget, refusals: Calls) -> None:
    """The sidecars choose by the code whether to repeat, to give up or to clean up; these two tell
    them nothing, and mostly mean that an error was passed on without being looked at."""
    problems = _found(csi, refusals, watch.code)
    expect(
        not problems,
        "what can be told by a code of the specification is not refused as UNKNOWN or INTERNAL",
        wanted="a code that says what is wrong",
        got=problems,
    )


@pytest.mark.looks_back
@case("CSI-PROTO-015", "CSI 1.13 Size Limits")
def test_no_answer_is_longer_than_allowed(csi: CsiTarget, answers: Calls) -> None:
    """Callers store these fields (a volume id in a PersistentVolume, a node id in a CSINode) and
    may cut or refuse what is too long, after the volume was made."""
    rule = "strings have at most 128 bytes, node ids 256, maps 4096"
    problems = _found(csi, answers, watch.sizes)
    with together() as check:
        with check:
            expect(not problems, f"{rule}, in every answer", wanted="no longer field", got=problems)
        problems = _found(csi, answers, watch.texts)
        with check:
            should(
                not problems,
                f"{rule}, texts and strings in maps too",
                wanted="no longer one",
                got=problems,
            )


@pytest.mark.looks_back
@case("CSI-PROTO-016", "CSI 1.13 REQUIRED vs. OPTIONAL")
def test_no_required_enum_is_left_unset(csi: CsiTarget, answers: Calls) -> None:
    """Zero is what a caller reads where nothing was sent: a capability, a mode or a unit of that
    value says nothing, and some callers drop the whole answer."""
    problems = _found(csi, answers, watch.enums)
    expect(not problems, "a required enum is not UNKNOWN", wanted="a known value", got=problems)


@pytest.mark.looks_back
@case("CSI-PROTO-017", "CSI 1.13 ListVolumes", needs=[REVISION_1_13])
def test_no_answer_has_the_volume_condition_of_older_revisions(
    csi: CsiTarget, answers: Calls
) -> None:
    """CSI 1.13 reserves the field: nobody reads it any more, and a driver that fills it believes
    that it reports health. Only a driver that serves both revisions has a reason to."""
    problems = _found(csi, answers, watch.removed)
    expect(not problems, "volume_condition is no longer sent", wanted="field 2 unset", got=problems)
