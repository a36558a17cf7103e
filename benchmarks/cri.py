"""What the virtual container runtime costs: a long list, a pod, and whether either grows.

Times of a list are those of the server, as its journal has them; times of pods are those of a
client that makes one call after the other over the socket.
"""

from __future__ import annotations

import itertools
import resource
import statistics
import time

from refimpl.cri import kubelet
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.fake import FakeRuntime

IMAGE = "example.com/a:1"
SIZES = (200, 1000, 2000)
BATCH, EACH, REPEATS = 50, 5, 7
LIST_MS, GROWTH, PODS_A_SECOND = 30.0, 1.5, 150.0


class Node:
    """A runtime over its socket, and a client that fills it."""

    def __init__(self, fake: FakeRuntime, cri: kubelet.RemoteRuntime) -> None:
        self.fake, self.cri, self._names = fake, cri, itertools.count()

    def pod(self, containers: int = 1) -> str:
        """One more pod that runs; the id of its sandbox."""
        config = kubelet.sandbox_config(f"pod-{next(self._names)}", host_network=True)
        sandbox = self.cri.run_pod_sandbox(config)
        for number in range(containers):
            request = pb.CreateContainerRequest(
                pod_sandbox_id=sandbox,
                config=kubelet.container_config(f"c{number}", IMAGE),
                sandbox_config=config,
            )
            id = self.cri.runtime.CreateContainer(request).container_id
            self.cri.start_container(id)
        return sandbox

    def batch(self) -> float:
        """Milliseconds a pod: made, started, listed, and removed again."""
        began = time.perf_counter()
        for _ in range(BATCH):
            sandbox = self.pod()
            selected = pb.ContainerFilter(pod_sandbox_id=sandbox)
            self.cri.runtime.ListContainers(pb.ListContainersRequest(filter=selected))
            self.cri.stop_pod_sandbox(sandbox)
            self.cri.remove_pod_sandbox(sandbox)
        return (time.perf_counter() - began) / BATCH * 1000

    def listing(self) -> float:
        """Milliseconds of the server for a list of all containers."""
        mark = self.fake.journal.seq
        self.cri.list_containers()
        (entry,) = self.fake.journal.since(mark)
        return entry.duration_s * 1000


def memory_kib() -> int:
    """The most that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> int:
    """Measures and tells; 1 where a claim does not hold."""
    pods, lists = {}, []
    with FakeRuntime(images=[IMAGE]) as fake:
        assert fake.endpoint
        node = Node(fake, kubelet.connect(fake.endpoint))
        first = memory_kib()
        for before, size in itertools.pairwise((0, *SIZES)):
            for _ in range(size - before):
                node.pod(EACH)
            pods[size] = min(node.batch() for _ in range(REPEATS))
        a_pod = (memory_kib() - first) / SIZES[-1]
        lists = [node.listing() for _ in range(REPEATS)]
        number = len(fake.state.containers.select())
        node.cri.close()
    growth = pods[SIZES[-1]] / pods[SIZES[0]]
    a_second = 1000 / pods[SIZES[0]]
    median = statistics.median(lists)
    print(f"a list of {number} containers: {lists[0]:.1f} ms the first time, then {median:.1f} ms")
    for size, cost in pods.items():
        print(f"a pod, made to removed, beside {size}: {cost:.2f} ms")
    print(f"{a_second:.0f} pods a second; beside {SIZES[-1]}: {growth:.2f} times the time")
    print(f"{a_pod:.0f} KiB a pod of {EACH} containers, client and journal included")
    held = median < LIST_MS and growth < GROWTH and a_second > PODS_A_SECOND
    return 0 if held else 1
