"""Identity: who the driver is, and whether it is well."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from conformance.csi.common import limits
from conformance.csi.common.fault_injection import missing_dependency
from conformance.csi.needs import BREAKABLE_DEPENDENCY, CREATE_DELETE_VOLUME, TWO_ENDPOINTS
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect, expect_status, should, timeout, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.kubelet import Driver
from refimpl.wire.status import Code, Refused

# CSI, GetPluginInfoResponse: alphanumeric at both ends, dashes and dots as well between.
_NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_NAME_CHARACTERS = 63
_LIVENESS_S = 1.0
_PROBES = 10


def _info(csi: CsiTarget) -> pb.GetPluginInfoResponse:
    return csi.identity.GetPluginInfo(pb.GetPluginInfoRequest())


@case("CSI-ID-001", "CSI 1.13 GetPluginInfo")
def test_the_name_of_the_driver_is_a_domain_name(csi: CsiTarget) -> None:
    """The name becomes part of object names, label keys and paths; kubelet refuses to register a
    driver whose name does not fit there."""
    name = _info(csi).name
    expect(
        _NAME.fullmatch(name) and len(name) <= _NAME_CHARACTERS,
        "a driver's name has letters, digits, dots and dashes, and a letter or digit at both ends",
        wanted=f"1 to {_NAME_CHARACTERS} of these characters",
        got=repr(name),
    )


@case("CSI-ID-002", "CSI 1.13 GetPluginInfo")
def test_the_driver_tells_its_version(csi: CsiTarget) -> None:
    """Capabilities are promised for a version; without one nobody knows when to ask again."""
    expect(
        _info(csi).vendor_version,
        "vendor_version is set",
        wanted="the version of the driver",
        got="an empty text",
    )


@case("CSI-ID-003", "CSI 1.13 GetPluginInfo")
def test_the_driver_tells_the_same_about_itself_to_everybody(csi: CsiTarget) -> None:
    """Kubelet, sidecars and probes ask at the same time, and each stores what it hears."""
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: _info(csi), range(8)))
    others = [answer for answer in replies if answer != replies[0]]
    expect(
        not others,
        "8 calls of GetPluginInfo at a time are answered alike",
        wanted=replies[0],
        got=others[:1],
    )


@case("CSI-ID-004", "CSI 1.13 Size Limits")
def test_the_manifest_keeps_the_limits(csi: CsiTarget) -> None:
    """The manifest is copied into logs and inventories as it is."""
    too_long = list(limits.excess(pb.GetPluginInfoResponse(manifest=_info(csi).manifest)))
    rule = "a manifest has at most 4096 bytes"
    hard = [str(excess) for excess in too_long if not excess.debatable]
    expect(not hard, rule, wanted="no more", got=hard)
    should(not too_long, f"{rule}, a string in it 128", wanted="no more", got=too_long[:3])


@case("CSI-ID-005", "CSI 1.13 GetPluginInfo")
def test_the_name_of_the_driver_names_its_vendor(csi: CsiTarget) -> None:
    """Two drivers of one name cannot live in one cluster; a vendor's domain keeps them apart."""
    name = _info(csi).name
    expect(
        re.fullmatch(r"[^.]+(\.[^.]+)+", name),
        "a driver's name holds the vendor's domain",
        wanted="a name with a dot, such as csi.example.com",
        got=repr(name),
    )


@case("CSI-ID-007", "CSI 1.13 GetPluginCapabilities", needs=[TWO_ENDPOINTS])
def test_all_endpoints_describe_the_same_driver(csi: CsiTarget) -> None:
    """The controller's socket is asked by the sidecars, the node's by kubelet: they have to hear of
    one driver, whichever services an instance serves itself."""
    first = _description(csi.driver)
    with together() as check:
        for endpoint, node in zip(csi.node_endpoints, csi.nodes, strict=True):
            with check:
                other = _description(node)
                expect(
                    other == first,
                    f"name, version and plugin capabilities at {endpoint} are those at"
                    f" {csi.endpoint}",
                    wanted=first,
                    got=other,
                )


def _description(driver: Driver) -> tuple[str, str, list[str]]:
    info = driver.identity.GetPluginInfo(pb.GetPluginInfoRequest())
    reply = driver.identity.GetPluginCapabilities(pb.GetPluginCapabilitiesRequest())
    capabilities = {" ".join(str(entry).split()) for entry in reply.capabilities}
    return info.name, info.vendor_version, sorted(capabilities)


@case("CSI-ID-014", "CSI 1.13 Probe")
def test_probe_says_ready_or_not(csi: CsiTarget) -> None:
    """Whoever watches a driver restarts it for any other error. `ready` may be true, false, or
    unset, which means true."""
    expect_status(
        lambda: csi.identity.Probe(pb.ProbeRequest()),
        {Code.OK, Code.FAILED_PRECONDITION},
        "Probe succeeds, or says that the driver is not healthy",
    )


@case(
    "CSI-ID-016",
    "CSI 1.13 Probe",
    needs=[BREAKABLE_DEPENDENCY, CREATE_DELETE_VOLUME],
    alone=True,
)
def test_a_call_before_the_driver_is_ready_does_no_harm(csi: CsiTarget) -> None:
    """Calls may fail until the driver is ready; repeated afterwards they have to come out as if
    they had been made only then."""
    request = csi.requests.volume()
    early: pb.Volume | None = None
    with missing_dependency(csi), contextlib.suppress(Refused):
        early = csi.steps.volume(request)
    eventually(lambda: _ready(csi), 60.0, "Probe says ready once the dependency is back")
    volume = csi.steps.volume(request)
    again = csi.steps.volume(request)
    expect(
        again == volume and early in (None, volume),
        "CreateVolume before and after the driver is ready makes one volume",
        wanted=early or volume,
        got=volume if again == volume else again,
    )


def _ready(csi: CsiTarget) -> bool:
    try:
        answer = csi.identity.Probe(pb.ProbeRequest())
    except Refused:
        return False
    return answer.ready.value or not answer.HasField("ready")


@case("CSI-ID-017", "CSI 1.13 Probe", needs=[BREAKABLE_DEPENDENCY], alone=True)
def test_probe_notices_that_a_dependency_is_missing(csi: CsiTarget) -> None:
    """A driver that says it is well without its back end is not restarted, and gets work that it
    cannot do."""
    with missing_dependency(csi):
        expect_status(
            lambda: csi.identity.Probe(pb.ProbeRequest()),
            {Code.FAILED_PRECONDITION},
            "Probe is FAILED_PRECONDITION while something is missing that the driver needs",
        )
    eventually(lambda: _ready(csi), 60.0, "Probe says ready once the dependency is back")


@case("CSI-ID-018", "Kubernetes 1.37 livenessprobe")
def test_probe_is_quick(csi: CsiTarget) -> None:
    """The liveness probe waits for one second by default; a container that misses it three times
    is restarted."""
    limit = timeout(_LIVENESS_S)
    for _ in range(_PROBES):
        took = _seconds(csi, lambda: csi.identity.Probe(pb.ProbeRequest()))
        expect(
            took < limit,
            f"each of {_PROBES} calls of Probe takes less than {limit:g} s",
            wanted=f"less than {limit:g} s",
            got=f"{took:.3f} s",
        )


def _seconds(csi: CsiTarget, call: Callable[[], object]) -> float:
    mark = csi.mark()
    call()
    return sum(entry.duration_s for entry in csi.calls(mark))
