"""What pod resources show besides devices: CPUs, memory, claims (PR)."""

from __future__ import annotations

from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, together
from conformance.kubelet.needs import since
from conformance.kubelet.node import NodeUnderTest
from conformance.kubelet.shown import RUNS, offered, shown
from refimpl.deviceplugin.api import podresources_v1_pb2 as pr
from refimpl.node.choices import KubeletChoices
from refimpl.node.pods import Amounts, Claim, ContainerSpec

STATIC = (*RUNS, Feature("cpus"))
CLAIMS = (*RUNS, Feature("claims"), since("1.34"))
WHOLE = ContainerSpec("main", amounts=Amounts(cpus=1, memory_mi=64))
POD_LEVEL = "PodLevelResourceManagers"


@case("PR-020", "pod resources v1: CPU policy none", needs=RUNS)
def test_without_a_cpu_policy_no_cpus_are_told(node: NodeUnderTest) -> None:
    """All containers share all CPUs: an id would read as a CPU of its own."""
    pod = node.pods.running(node.pods.run(app=(WHOLE,)))
    [container] = shown(node, pod).containers
    with together() as check:
        for what, cpus in (
            ("a container", container.cpu_ids),
            ("the node", offered(node).cpu_ids),
            ("the pod", shown(node, pod).cpu_ids),
        ):
            with check:
                expect(not cpus, f"cpu_ids of {what} are empty", wanted="none", got=list(cpus))


@case("PR-021", "pod resources v1: CPU policy static", needs=STATIC)
def test_exclusive_cpus_are_told_of_the_container_that_has_them(node: NodeUnderTest) -> None:
    """Agents that measure by CPU have to know whose it is; who shares has none of his own."""
    node.configured(KubeletChoices(cpu_policy="static"))
    owner = node.pods.running(node.pods.run(app=(WHOLE,)))
    sharer = node.pods.running(node.pods.run(app=(ContainerSpec("main"),)))
    [own], [shared] = (shown(node, each).containers for each in (owner, sharer))
    known = offered(node).cpu_ids
    with together() as check:
        with check:
            expect(
                len(own.cpu_ids) == 1 and {*own.cpu_ids} <= {*known},
                "a container of one whole CPU has one of those that can be given away",
                wanted=f"one of {list(known)}",
                got=list(own.cpu_ids),
            )
        with check:
            expect(
                not shared.cpu_ids,
                "a container that shares CPUs has none of its own",
                wanted="none",
                got=list(shared.cpu_ids),
            )


@case("PR-022", "pod resources v1: memory policy Static", needs=STATIC)
def test_memory_is_told_with_its_kind_size_and_node(node: NodeUnderTest) -> None:
    """Placement by NUMA node counts memory as it counts devices."""
    node.configured(KubeletChoices(policy="best-effort", memory_policy="Static"))
    pod = node.pods.running(node.pods.run(app=(WHOLE,)))
    [container] = shown(node, pod).containers
    with together() as check:
        with check:
            expect(
                [(each.memory_type, each.size) for each in container.memory]
                == [("memory", 64 << 20)],
                "the block of a container has its kind and its size in bytes",
                wanted="memory, 67108864",
                got=container.memory,
            )
        blocks = {each.memory_type for each in offered(node).memory}
        with check:
            expect(
                "memory" in blocks and all(_known(kind) for kind in blocks),
                "what the node offers is memory and huge pages",
                wanted="memory, hugepages-*",
                got=blocks,
            )
        for each in (*container.memory, *offered(node).memory):
            with check:
                nodes = [node.ID for node in each.topology.nodes]
                expect(nodes == [0], "a block tells its NUMA node", wanted=[0], got=nodes)


def _known(kind: str) -> bool:
    return kind == "memory" or kind.startswith("hugepages-")


def claim_on(node: NodeUnderTest, share: str = "") -> Claim:
    """A claim of a driver that no other case has."""
    driver = node.resource("gpu").partition("/")[0]
    name = driver.partition(".")[0]
    return Claim(name, driver, "pool", "gpu-0", (f"{driver}/gpu=0",), share)


def claimed(node: NodeUnderTest, claim: Claim) -> tuple[str, pr.DynamicResource]:
    """The namespace of a running pod that uses the claim, and what is told of it."""
    spec = ContainerSpec("main", claims=(claim,))
    pod = node.pods.running(node.pods.run(app=(spec,)))
    [container] = shown(node, pod).containers
    resources = list(container.dynamic_resources)
    expect(
        len(resources) == 1, "the claim of a container is listed", wanted=claim.name, got=resources
    )
    return pod.namespace, resources[0]


@case("PR-023", "pod resources v1: claims", needs=CLAIMS)
def test_a_claim_is_told_with_its_device(node: NodeUnderTest) -> None:
    """Devices that came by a claim are found in no other field."""
    claim = claim_on(node)
    namespace, resource = claimed(node, claim)
    with together() as check:
        with check:
            expect(
                (resource.claim_namespace, resource.claim_name) == (namespace, claim.name),
                "the claim is told by namespace and name",
                wanted=(namespace, claim.name),
                got=resource,
            )
        devices = [
            (
                each.driver_name,
                each.pool_name,
                each.device_name,
                [it.name for it in each.cdi_devices],
            )
            for each in resource.claim_resources
        ]
        with check:
            expect(
                devices == [(claim.driver, claim.pool, claim.device, [*claim.cdi])],
                "its device is told by driver, pool and name, with what CDI calls it",
                wanted=claim,
                got=devices,
            )


@case("PR-024", "pod resources v1: shares of a device", needs=CLAIMS)
def test_a_share_of_a_device_is_told_by_its_id(node: NodeUnderTest) -> None:
    """Two claims may have the same device: without the id their shares cannot be told apart."""
    share = "3f0b8a6e-6f1d-4a57-9a0b-7d1c52a1c0de"
    _, resource = claimed(node, claim_on(node, share))
    shares = [each.share_id for each in resource.claim_resources]
    expect(shares == [share], "the id of the share is told", wanted=share, got=shares)


@case(
    "PR-025",
    "pod resources v1: resources of a pod as such",
    needs=[*STATIC, Feature("gates"), since("1.36")],
)
def test_the_cpus_of_a_pod_include_those_of_its_containers(node: NodeUnderTest) -> None:
    """A consumer that adds up both fields counts CPUs twice unless one lies within the other."""
    node.configured(
        KubeletChoices(
            policy="best-effort",
            scope="pod",
            cpu_policy="static",
            gates={POD_LEVEL: True},
        )
    )
    containers = (WHOLE, ContainerSpec("helper"))
    pod = node.pods.running(node.pods.run(app=containers, pod_level=Amounts(cpus=2, memory_mi=256)))
    listed = shown(node, pod)
    own = {cpu for each in listed.containers for cpu in each.cpu_ids}
    with together() as check:
        with check:
            expect(len(own) == 1, "a container has one CPU of its own", wanted=1, got=own)
        with check:
            expect(
                len(listed.cpu_ids) == 2 and own <= {*listed.cpu_ids},
                "the pod has its two CPUs, among them those of its containers",
                wanted=f"two, with {own}",
                got=list(listed.cpu_ids),
            )
