"""What cases make is gone with the case, whoever made it, and is on record until then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cri.record import Record, RecordedChannel
from conformance.engine.ledger.entries import Ledger, left
from conformance.engine.ledger.pods import POD
from conformance.engine.scope import CaseScope
from conformance.engine.verdict import Broken
from refimpl.cri import kubelet
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.api.cri_pb2_grpc import RuntimeServiceStub
from refimpl.cri.fake import FakeRuntime
from refimpl.wire.faults import Faults

IMAGE = "example.com/a:1"


class Bench:
    """A fake, and calls of it that are on record."""

    def __init__(self, path: Path, faults: str = "") -> None:
        self.path = path
        rules = Faults.from_yaml(faults) if faults else None
        self.fake = FakeRuntime(images=[IMAGE], faults=rules)
        self.quiet = kubelet.connect(self.fake.start())
        self.ledger = Ledger(path)
        self.record = Record(self.quiet, self.ledger)
        channel: object = RecordedChannel(self.quiet.channel, self.record)
        self.runtime = RuntimeServiceStub(channel)  # type: ignore[arg-type]

    def run(self) -> str:
        """A sandbox, by a stub."""
        request = pb.RunPodSandboxRequest(config=kubelet.sandbox_config("pod"))
        return self.runtime.RunPodSandbox(request).pod_sandbox_id

    def close(self) -> None:
        """Ends both."""
        self.ledger.close()
        self.quiet.close()
        self.fake.stop()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """One."""
    bench = Bench(tmp_path / "ledger.jsonl")
    yield bench
    bench.close()


def test_what_a_stub_makes_is_on_record_and_goes_with_the_scope(bench: Bench) -> None:
    """The sandbox with its pod's uid, and containers before it."""
    id = bench.run()
    config = kubelet.container_config("main", IMAGE)
    bench.runtime.CreateContainer(
        pb.CreateContainerRequest(
            pod_sandbox_id=id, config=config, sandbox_config=kubelet.sandbox_config("pod")
        )
    )
    (entry,) = left(bench.path)
    assert entry.kind == POD
    bench.record.scope.close()
    assert (bench.quiet.list_pod_sandboxes(), bench.quiet.list_containers()) == ([], [])
    assert left(bench.path) == []


def test_a_sandbox_without_a_uid_goes_by_its_id(bench: Bench) -> None:
    """Where a runtime makes what it should have refused."""
    bench.fake.stop()
    bench.quiet.close()
    bench.fake = FakeRuntime(profile="containerd")
    bench.quiet = kubelet.connect(bench.fake.start())
    record = Record(bench.quiet, bench.ledger)
    stub = RuntimeServiceStub(RecordedChannel(bench.quiet.channel, record))  # type: ignore[arg-type]
    config = kubelet.sandbox_config("pod")
    config.metadata.uid = ""
    stub.RunPodSandbox(pb.RunPodSandboxRequest(config=config))
    assert len(bench.quiet.list_pod_sandboxes()) == 1
    record.scope.close()
    assert bench.quiet.list_pod_sandboxes() == []


def test_scopes_may_be_nested(bench: Bench) -> None:
    """What is shared outlasts the case that made it first."""
    outer = CaseScope()
    with bench.record.within(outer):
        bench.run()
    bench.record.scope.close()
    assert len(bench.quiet.list_pod_sandboxes()) == 1
    outer.close()
    assert bench.quiet.list_pod_sandboxes() == []


def test_what_the_runtime_will_not_remove_is_a_finding(tmp_path: Path) -> None:
    """And stays on record."""
    rule = "- {when: {method: '*RemovePodSandbox'}, do: {status: {code: INTERNAL}}}"
    bench = Bench(tmp_path / "ledger.jsonl", rule)
    try:
        bench.run()
        with pytest.raises(Broken, match="removed again"):
            bench.record.scope.close()
        assert bench.record.scope.failed
        assert len(left(bench.path)) == 1
    finally:
        bench.close()
