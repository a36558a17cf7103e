"""UpdateRuntimeConfig: the range of addresses that kubelet hands on."""

from __future__ import annotations

from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused


def _update(cri: CriTarget, pod_cidr: str) -> None:
    network = pb.NetworkConfig(pod_cidr=pod_cidr)
    config = pb.RuntimeConfig(network_config=network)
    cri.runtime.UpdateRuntimeConfig(pb.UpdateRuntimeConfigRequest(runtime_config=config))


@case("CRI-RT-015", "containerd, CRI-O: nothing to change is no error")
def test_an_empty_range_is_no_error(cri: CriTarget) -> None:
    """Kubelet sends it where the cluster gives nodes no ranges."""
    _update(cri, "")


@case("CRI-RT-016", "CRI v1 NetworkConfig.pod_cidr: two ranges if dual stack")
def test_a_range_of_each_family_is_taken(cri: CriTarget) -> None:
    """A node of a dual-stack cluster has two, with a comma between."""
    _update(cri, "10.1.0.0/16,fd00::/64")


@case("CRI-RT-017", "CRI v1 NetworkConfig.pod_cidr: a range")
def test_what_is_no_range_is_refused_or_ignored(cri: CriTarget) -> None:
    """It must not end up in a network configuration."""
    before = cri.kubelet.status().status
    try:
        _update(cri, "not-a-cidr")
    except Refused as refusal:
        named = refusal.code not in (Code.INTERNAL, Code.UNAVAILABLE)
        expect(named, "it is refused as an error of the caller", wanted="a refusal", got=refusal)
    after = cri.kubelet.status().status
    expect(after == before, "the conditions are as before", wanted=before, got=after)
