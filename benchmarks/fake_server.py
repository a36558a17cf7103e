"""The CSI fake with its journal on, beside a bare grpcio servicer of the same messages.

Both serve in a process of their own on a unix socket with a pool of 4; the same client processes
call them in turns (create, publish, unpublish, delete), so that a machine whose speed drifts is
fair to both. CPU per call is that of the serving process.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

ROUNDS, SECONDS, CLIENTS, THREADS = 9, 1.5, 2, 2
FLOOR = 0.85
SIZES = (10, 1_000, 100_000)
GROWTH = 1.3  # cost at 100,000 volumes against cost at 10
_CONTEXT = multiprocessing.get_context("spawn")
Pipe = multiprocessing.connection.Connection


@attrs.frozen
class Round:
    """Calls a second, and CPU seconds of the server for each call."""

    rate: float
    cpu_s: float


def serve_bare(path: str, pipe: Pipe) -> None:
    """What a programmer writes with grpcio alone."""
    import grpc

    from refimpl.csi.api import csi_pb2 as pb
    from refimpl.csi.api import csi_pb2_grpc

    class Controller(csi_pb2_grpc.ControllerServicer):
        def CreateVolume(self, request: Any, context: Any) -> Any:
            size = request.capacity_range.required_bytes
            return pb.CreateVolumeResponse(
                volume=pb.Volume(volume_id=request.name, capacity_bytes=size)
            )

        def ControllerPublishVolume(self, request: Any, context: Any) -> Any:
            return pb.ControllerPublishVolumeResponse(publish_context={"device": "/dev/x"})

        def ControllerUnpublishVolume(self, request: Any, context: Any) -> Any:
            return pb.ControllerUnpublishVolumeResponse()

        def DeleteVolume(self, request: Any, context: Any) -> Any:
            return pb.DeleteVolumeResponse()

    server = grpc.server(futures.ThreadPoolExecutor(4))
    csi_pb2_grpc.add_ControllerServicer_to_server(Controller(), server)  # type: ignore[abstract]
    server.add_insecure_port(f"unix:{path}")
    server.start()
    _obey(pipe)
    server.stop(0).wait()


def serve_fake(path: str, pipe: Pipe) -> None:
    """Ours: state, rules, journal in memory and in a file."""
    from refimpl.csi.fake import FakeDriver

    with FakeDriver(path, journal=Path(f"{path}.journal"), storage="memory"):
        _obey(pipe)


def _obey(pipe: Pipe) -> None:
    """Tells the CPU time used so far whenever asked, until told to end."""
    pipe.send("ready")
    while pipe.recv() == "cpu":
        pipe.send(time.process_time())


def _client(path: str, number: int, seconds: float, pipe: Pipe) -> None:
    import grpc

    from refimpl.csi.api import csi_pb2 as pb
    from refimpl.csi.api import csi_pb2_grpc

    capability = pb.VolumeCapability(
        mount=pb.VolumeCapability.MountVolume(fs_type="ext4"),
        access_mode=pb.VolumeCapability.AccessMode(
            mode=pb.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
        ),
    )
    size = pb.CapacityRange(required_bytes=1 << 30)

    def life(stub: Any, name: str) -> None:
        created = stub.CreateVolume(
            pb.CreateVolumeRequest(name=name, capacity_range=size, volume_capabilities=[capability])
        )
        volume = created.volume.volume_id
        stub.ControllerPublishVolume(
            pb.ControllerPublishVolumeRequest(
                volume_id=volume, node_id="node-0", volume_capability=capability
            )
        )
        stub.ControllerUnpublishVolume(
            pb.ControllerUnpublishVolumeRequest(volume_id=volume, node_id="node-0")
        )
        stub.DeleteVolume(pb.DeleteVolumeRequest(volume_id=volume))

    def work(thread: int) -> int:
        with grpc.insecure_channel(f"unix:{path}") as channel:
            stub = csi_pb2_grpc.ControllerStub(channel)
            life(stub, f"warm-{number}-{thread}")
            barrier.wait()
            count, end = 0, time.monotonic() + seconds
            while time.monotonic() < end:
                life(stub, f"v-{number}-{thread}-{count}")
                count += 4
            return count

    import threading

    def begin() -> None:
        pipe.send("warm")
        pipe.recv()

    barrier = threading.Barrier(THREADS, action=begin)
    with futures.ThreadPoolExecutor(THREADS) as pool:
        pipe.send(sum(pool.map(work, range(THREADS))))


@contextmanager
def serving(target: Any, path: str) -> Iterator[Pipe]:
    """A server process and the pipe that asks for its CPU time."""
    our_end, its_end = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=target, args=(path, its_end))
    process.start()
    our_end.recv()
    try:
        yield our_end
    finally:
        our_end.send("end")
        process.join()


def cpu(pipe: Pipe) -> float:
    """CPU seconds the server has used."""
    pipe.send("cpu")
    return float(pipe.recv())


def one_round(path: str, server: Pipe, seconds: float) -> Round:
    """All clients at once for `seconds`."""
    pipes = []
    for number in range(CLIENTS):
        our_end, its_end = _CONTEXT.Pipe()
        _CONTEXT.Process(target=_client, args=(path, number, seconds, its_end)).start()
        pipes.append(our_end)
    for pipe in pipes:
        pipe.recv()
    cpu_before = cpu(server)
    for pipe in pipes:
        pipe.send("go")
    calls = sum(pipe.recv() for pipe in pipes)
    return Round(calls / seconds, (cpu(server) - cpu_before) / calls)


def compare(rounds: int = ROUNDS, seconds: float = SECONDS) -> tuple[list[Round], list[Round]]:
    """Bare and fake in turns."""
    with tempfile.TemporaryDirectory() as folder:
        bare_path, fake_path = f"{folder}/bare.sock", f"{folder}/fake.sock"
        with serving(serve_bare, bare_path) as bare, serving(serve_fake, fake_path) as fake:
            pairs = [
                (one_round(bare_path, bare, seconds), one_round(fake_path, fake, seconds))
                for _ in range(1 + rounds)
            ][1:]  # the first pair warms both up
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def growth() -> dict[str, dict[int, float]]:
    """Microseconds a call of our fake, by kind of call and number of volumes, without the wire."""
    from benchmarks.growth import measure

    return measure(SIZES)


def main() -> int:
    """Prints the figures; exit code 1 when a claim does not hold."""
    bare, fake = compare()
    ratio = statistics.median(f.rate / b.rate for b, f in zip(bare, fake, strict=True))
    for name, rounds in (("bare grpcio", bare), ("refimpl csi", fake)):
        rate = statistics.median(run.rate for run in rounds)
        used = statistics.median(run.cpu_s for run in rounds) * 1e6
        print(f"{name:12} {rate:8.0f} calls/s   {used:6.0f} us CPU a call in the server")
    print(f"ratio of calls/s, median of {len(bare)} pairs: {ratio:.3f} (claim: {FLOOR} or more)")
    holds = ratio >= FLOOR
    print(f"\n{'microseconds a call':24}" + "".join(f"{size:>10}" for size in SIZES))
    for name, costs in growth().items():
        print(f"{name:24}" + "".join(f"{costs[size]:10.1f}" for size in SIZES))
        # A page of ten volumes is cheaper than one of a hundred; it grows with the page only.
        smallest = SIZES[1] if name.startswith("List") else SIZES[0]
        holds = holds and costs[SIZES[-1]] <= GROWTH * costs[smallest]
    print("every claim holds" if holds else "a claim does not hold")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
