"""CNI_ARGS and capability payloads of a pod (rows CNI-RT-045 to 048)."""

from typing import Any

import pytest

from refimpl.cni.runtime import PROFILES
from refimpl.cni.runtime.kubernetes import (
    ANNOTATIONS,
    Pod,
    Port,
    Resolver,
    args_of,
    bits,
    capabilities_of,
)

LIMITS = {"kubernetes.io/ingress-bandwidth": "10M"}
POD = Pod(
    id="c1",
    netns="/ns",
    name="web",
    namespace="shop",
    uid="u-1",
    annotations=LIMITS,
    ports=[Port(80, 8080), Port(53, 0, "UDP"), Port(99, 99, "SCTP", "10.0.0.1")],
    dns=Resolver(("10.0.0.10",), ("svc",), ()),
    cgroup_parent="/kubepods/x",
    ip="10.1.0.9",
    mac="02:00:00:00:00:09",
    aliases=["www"],
    ip_ranges=[[{"subnet": "10.1.0.0/24"}]],
)
FIVE = [
    ("IgnoreUnknown", "1"),
    ("K8S_POD_NAMESPACE", "shop"),
    ("K8S_POD_NAME", "web"),
    ("K8S_POD_INFRA_CONTAINER_ID", "c1"),
    ("K8S_POD_UID", "u-1"),
]


def has(profile: str) -> dict[str, Any]:
    """The payloads of the pod."""
    return capabilities_of(POD, PROFILES[profile].pods, "net")


def args(profile: str, pod: Pod = POD, **ambient: str) -> list[tuple[str, str]]:
    """The pairs, "shuffled" by turning them around."""
    return list(args_of(pod, PROFILES[profile].pods, ambient, lambda pairs: pairs.reverse()))


def test_strict_spells_as_the_conventions_do() -> None:
    """RT-045 to RT-047: lower-case protocols, no port 0, bits, only the side that is limited."""
    assert has("strict") == {
        "portMappings": [
            {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"},
            {"hostPort": 99, "containerPort": 99, "protocol": "sctp", "hostIP": "10.0.0.1"},
        ],
        "bandwidth": {"ingressRate": 10_000_000, "ingressBurst": 10_000_000},
        "dns": {"servers": ["10.0.0.10"], "searches": ["svc"], "options": []},
        "ips": ["10.1.0.9"],
        "mac": "02:00:00:00:00:09",
        "aliases": ["www"],
        "cgroupPath": "/kubepods/x",
        ANNOTATIONS: LIMITS,
    }


def test_containerd_spells_as_go_fields_are_called() -> None:
    """RT-045: with what is not set as empty, null or 0."""
    assert has("go-cni") == {
        "portMappings": [
            {"HostPort": 8080, "ContainerPort": 80, "Protocol": "tcp", "HostIP": ""},
            {"HostPort": 99, "ContainerPort": 99, "Protocol": "sctp", "HostIP": "10.0.0.1"},
        ],
        "bandwidth": {
            "IngressRate": 10_000_000,
            "IngressBurst": 2**32 - 1,
            "EgressRate": 0,
            "EgressBurst": 0,
        },
        "dns": {"Servers": ["10.0.0.10"], "Searches": ["svc"], "Options": None},
        "cgroupPath": "/kubepods/x",
        ANNOTATIONS: LIMITS,
    }


def test_crio_sends_aliases_as_a_map() -> None:
    """RT-045: and no port mappings, no DNS."""
    capabilities = has("ocicni")
    assert capabilities["aliases"] == {"net": ["www"]}
    assert capabilities["ipRanges"] == [[{"subnet": "10.1.0.0/24"}]]
    assert capabilities["bandwidth"]["ingressBurst"] == 8 * (2**32 - 1) - 1
    assert capabilities["bandwidth"]["egressRate"] == 0
    assert not {"portMappings", "dns", "ips", "mac"} & capabilities.keys()


@pytest.mark.parametrize(("profile", "wanted"), [("strict", {}), ("go-cni", {ANNOTATIONS: None})])
def test_a_plain_pod_has_next_to_nothing(profile: str, wanted: dict[str, Any]) -> None:
    """containerd sends the annotations of a pod without any."""
    assert capabilities_of(Pod(id="c", netns=""), PROFILES[profile].pods, "net") == wanted


def test_the_five_pairs_of_kubernetes() -> None:
    """RT-048: fixed, in the order of a Go map, or with more behind them."""
    assert args("strict", CNI_ARGS="STRAY=1") == FIVE
    assert args("go-cni", CNI_ARGS="STRAY=1") == FIVE[::-1]
    assert args("ocicni", CNI_ARGS="STRAY=1;x;B=c=d") == [
        *FIVE,
        ("STRAY", "1"),
        ("B", "c=d"),
        ("IP", "10.1.0.9"),
        ("MAC", "02:00:00:00:00:09"),
    ]


@pytest.mark.parametrize("name", ["a;EVIL=1", "a=b"])
def test_a_name_cannot_make_pairs_of_its_own(name: str) -> None:
    """RT-048: CNI_ARGS knows no escape."""
    with pytest.raises(ValueError, match="CNI_ARGS"):
        args("strict", Pod(id="c", netns="", name=name))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1k", 1000),
        ("10M", 10**7),
        ("1Mi", 2**20),
        ("1500.5", 1501),
        ("1500000m", 1500),
        ("1P", 10**15),
    ],
)
def test_quantities_are_bits_per_second(text: str, value: int) -> None:
    """RT-047: rounded up."""
    assert bits(text) == value


@pytest.mark.parametrize("text", ["", "fast", "999", "2P", "-1M", "1e4x"])
def test_unreasonable_quantities_are_refused(text: str) -> None:
    """kubelet's bounds."""
    with pytest.raises(ValueError, match="from 1k to 1P"):
        bits(text)
