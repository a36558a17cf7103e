"""A container runtime under test, composed of what cases work with."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs

from conformance.cri import features, reproduce
from conformance.cri.images import Images
from conformance.cri.pods import Pods
from conformance.cri.probes import probes
from conformance.cri.record import Record, RecordedChannel
from conformance.cri.settings import CriSettings
from conformance.engine.judging.reproduce import depends
from conformance.engine.ledger import pods, sweep
from conformance.engine.ledger.entries import Ledger
from conformance.engine.scope import CaseScope
from conformance.engine.targets.resolve import ResolvedTarget
from conformance.engine.targets.target import Loss
from refimpl.cri.api.cri_pb2_grpc import ImageServiceStub, RuntimeServiceStub
from refimpl.cri.kubelet import RemoteRuntime
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import probe
from refimpl.wire.journal import Entry, Journal

if TYPE_CHECKING:
    from refimpl.cri.fake import FakeRuntime

__all__ = ["CriTarget"]

_NEWEST = "1.37"
# A run makes some thousands of calls; the journal has to reach back over one case only.
_KEEP = 20_000
_READY_S = 10.0
_CREATES = ("RunPodSandbox", "CreateContainer")


class CriTarget:
    """One runtime.

    kubelet: the calls as kubelet makes them; runtime, images: its stubs. pods: makes what a case
    works with. shelf: images of a case, and registries that serve them. image: what containers are
    made of, empty where there is none. lacks: feature -> why it is not there. fake: our own, for
    cases that steer it.
    """

    interface = "cri"
    secrets: Collection[str] = ()
    only_warns: Collection[str] = ()

    def __init__(
        self, endpoint: str, resolved: ResolvedTarget, *, fake: FakeRuntime | None = None
    ) -> None:
        chosen: CriSettings = resolved.settings
        self.settings, self.fake, self.run_id = chosen, fake, resolved.run_id
        self.journal = Journal(keep=_KEEP)
        quiet = pods.connect(endpoint, ready_s=_READY_S, observers=[self.journal.add])
        self._quiet, self.endpoint = quiet, quiet.endpoint
        self.ledger = Ledger(None if fake else _ledger_path(resolved), resolved.text)
        self.record = Record(quiet, self.ledger)
        self.kubelet = _recorded(quiet, self.record)
        self.runtime, self.images = self.kubelet.runtime, self.kubelet.images
        self.name, self.version = quiet.runtime_name, quiet.runtime_version
        self.revision = resolved.judged_by(_NEWEST)
        self.image = features.image_of(quiet, chosen.image)
        self.shelf = Images(self.kubelet, lambda: self.record.scope, chosen.netns)
        self.lacks = features.lacks(
            quiet, self.image, self.shelf.why_not, probes(self), ours=fake is not None
        )
        self.pods = Pods(
            self.kubelet,
            self.record,
            run_id=resolved.run_id,
            image=self.image,
            cgroup_parent=chosen.cgroup_parent,
        )

    def begin(self, scope: CaseScope) -> None:
        """A case begins: what is made from now on goes with its scope."""
        self.record.scope = scope

    @property
    def scope(self) -> CaseScope:
        """That of the case that runs."""
        return self.record.scope

    def channel(self) -> Channel:
        """The connection, for calls that no stub makes."""
        return self._quiet.channel

    def handler(self) -> str:
        """A runtime handler with a name; empty where there is none."""
        names = [each.name for each in self.kubelet.status().runtime_handlers if each.name]
        return self.settings.handler or next(iter(names), "")

    def mark(self) -> int:
        """A place in the journal; `calls` tells what was called after it."""
        return self.journal.seq

    def calls(self, mark: int) -> list[Entry]:
        """The calls since the mark, oldest first."""
        return self.journal.since(mark)

    def reproduce(self, calls: Sequence[Entry]) -> str:
        """A crictl line that repeats the last call, where the runtime outlives the run and it names
        nothing that went with the case."""
        call = calls[-1]
        creates = [each for each in calls[:-1] if each.rpc in _CREATES]
        if self.fake or depends(call, creates, self.run_id):
            return ""
        return reproduce.line(call, self.endpoint)

    def lost(self, *, failed: bool = True) -> Loss | None:  # noqa: ARG002
        """Why the runtime no longer answers, None where it does."""
        if probe(self.endpoint) == "live":
            return None
        return Loss(f"nobody answers at {self.endpoint} any more")

    def close(self) -> None:
        """Removes what is left, hangs up, and ends our fake."""
        self.pods.close()
        self.shelf.close()
        self.record.scope.close()
        self.ledger.close()
        self._quiet.close()
        if self.fake:
            self.fake.close()


def _ledger_path(resolved: ResolvedTarget) -> Path:
    return sweep.ledger_path("cri", resolved.text, resolved.run_id)


def _recorded(quiet: RemoteRuntime, record: Record) -> RemoteRuntime:
    """The same connection, with what is made over it on record."""
    channel = cast(Any, RecordedChannel(quiet.channel, record))
    return attrs.evolve(
        quiet, runtime=RuntimeServiceStub(channel), images=ImageServiceStub(channel)
    )
