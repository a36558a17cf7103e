"""What our kubelet tells besides devices: CPUs, memory and claims of its pods."""

from __future__ import annotations

from refimpl.deviceplugin.devicemanager.podresources import Others
from refimpl.node.choices import CPUS_PER_NODE, KubeletChoices
from refimpl.node.pods import Amounts, Claim, ContainerSpec, PodSpec
from refimpl.node.shares import Shares

WHOLE = Amounts(cpus=1, memory_mi=64)
GATES = {"KubeletPodResourcesDynamicResources", "PodLevelResourceManagers"}


def pod(uid: str, *amounts: Amounts, **choices: object) -> PodSpec:
    app = tuple(ContainerSpec(f"c{n}", amounts=each) for n, each in enumerate(amounts))
    return PodSpec(uid, uid, app=app, **choices)  # type: ignore[arg-type]


def test_without_policies_nothing_is_told() -> None:
    """Of the node and of its pods."""
    others = Others()
    Shares(KubeletChoices(), GATES, others).give(pod("p", WHOLE))
    assert others == Others(containers={("p", "c0"): others.containers["p", "c0"]})
    assert others.containers["p", "c0"].ByteSize() == 0


def test_whole_cpus_are_given_to_one_container_each_until_it_is_gone() -> None:
    """Where all containers of the pod ask for them, as those of class Guaranteed; CPU 0 stays."""
    others = Others()
    shares = Shares(KubeletChoices(cpu_policy="static"), GATES, others)
    assert list(others.allocatable.cpu_ids) == list(range(1, CPUS_PER_NODE))
    for each in (pod("p", WHOLE, WHOLE), pod("q", WHOLE), pod("r", WHOLE, Amounts())):
        shares.give(each)
    given = {key: list(each.cpu_ids) for key, each in others.containers.items()}
    assert given == {
        ("p", "c0"): [1],
        ("p", "c1"): [2],
        ("q", "c0"): [3],
        ("r", "c0"): [],
        ("r", "c1"): [],
    }
    shares.take_back("p")
    assert ("p", "c0") not in others.containers
    shares.give(pod("s", WHOLE))
    assert list(others.containers["s", "c0"].cpu_ids) == [1]


def test_memory_is_told_in_bytes_on_a_node() -> None:
    """Of two nodes the first."""
    others = Others()
    choices = KubeletChoices(memory_policy="Static", nodes={2: (10, 20), 3: (20, 10)})
    Shares(choices, GATES, others).give(pod("p", WHOLE))
    [block] = others.containers["p", "c0"].memory
    assert (block.memory_type, block.size) == ("memory", 64 * 1024 * 1024)
    assert [node.ID for node in block.topology.nodes] == [2]
    assert [each.topology.nodes[0].ID for each in others.allocatable.memory] == [2, 3]


def test_a_pod_has_cpus_as_such_in_pod_scope_only() -> None:
    """Those of its containers are among them."""
    for scope, whole in (("pod", [1, 2]), ("container", [])):
        others = Others()
        choices = KubeletChoices(cpu_policy="static", scope=scope)  # type: ignore[arg-type]
        two = Amounts(cpus=2, memory_mi=128)
        asking = pod("p", WHOLE, Amounts(), pod_level=True, amounts=two)
        Shares(choices, GATES, others).give(asking)
        entry = others.pods.get("p")
        assert (list(entry.cpu_ids) if entry else []) == whole
        assert list(others.containers["p", "c0"].cpu_ids) == whole[:1]
        assert list(others.containers["p", "c1"].cpu_ids) == []


def test_claims_are_told_where_their_gate_is_open() -> None:
    """With what CDI calls the device, and the share if there is one."""
    claims = (
        Claim("one", "d.example.com", "pool", "gpu-0", ("d.example.com/gpu=0",)),
        Claim("two", "d.example.com", "pool", "gpu-1", share="some-uuid"),
    )
    asking = PodSpec("p", "p", app=(ContainerSpec("c0", claims=claims),))
    others = Others()
    Shares(KubeletChoices(), GATES, others).give(asking)
    one, two = others.containers["p", "c0"].dynamic_resources
    assert (one.claim_namespace, one.claim_name) == ("default", "one")
    [device] = one.claim_resources
    assert (device.driver_name, device.pool_name) == ("d.example.com", "pool")
    assert [each.name for each in device.cdi_devices] == ["d.example.com/gpu=0"]
    assert not device.HasField("share_id")
    assert two.claim_resources[0].share_id == "some-uuid"
    closed = Others()
    Shares(KubeletChoices(), (), closed).give(asking)
    assert list(closed.containers["p", "c0"].dynamic_resources) == []
