"""A runtime during one case: networks of recorders, pods, and what the recorders saw."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from conformance.cni.runtimes.bench import Bench, Recording
from conformance.cni.runtimes.calls import RecordedCall
from conformance.cni.runtimes.network_files import NetworkFiles
from conformance.cni.runtimes.subject import RequestedPod, RuntimeRefusal, describe
from conformance.engine.scope import CaseScope
from conformance.engine.verdict import Broken, eventually, soon, timeout
from refimpl.cni.execute import Outcome, Request
from refimpl.documents import json as documents

__all__ = ["RuntimeUnderTest"]

VERSION = "1.0.0"
"""Of networks where a case is about no other: every runtime since 2021 has it."""

_NOTICED_S = 10.0
_QUIET_NS = 300_000_000
_REFUSED_S = 2.0


class RuntimeUnderTest:
    """The runtime during one case, with healthy recorders; networks and pods end with the scope.

    Raises OSError where nothing can be installed.

    runtime.use("a", "b")
    pod = runtime.started()
    runtime.stop(pod)
    assert runtime.steps() == ["a ADD", "b ADD", "b DEL", "a DEL"]
    """

    def __init__(self, bench: Bench, scope: CaseScope) -> None:
        self._bench, self.scope = bench, scope
        self.subject, self.recorders, self.ledger = bench.subject, bench.recorders, bench.ledger
        self.settings, self.folder = bench.settings, bench.folder
        self.name = bench.begin()
        self.files = NetworkFiles(bench.subject.conf_dir, bench.run_id, bench.ledger, scope)
        self._pods: list[RequestedPod] = []
        self._mark = len(bench.journal.calls())
        self._network = self.name
        scope.callback(self._clean_up)

    @property
    def practice(self) -> bool:
        """Whether what the reference library does is accepted."""
        return self.settings.policy == "practice"

    # Networks

    def plugin(self, letter: str, **members: Any) -> dict[str, Any]:
        """A plugin object of a recorder."""
        return {"type": self.recorders.type_of(letter), **members}

    def network(
        self, *plugins: str | dict[str, Any], version: str | None = VERSION, **members: Any
    ) -> dict[str, Any]:
        """A network list; letters stand for recorders. version None: the list has no cniVersion."""
        chain = [self.plugin(each) if isinstance(each, str) else each for each in plugins]
        declared = {} if version is None else {"cniVersion": version}
        return {**declared, "name": self.name, **members, "plugins": chain}

    def use(self, *plugins: str | dict[str, Any], **members: Any) -> dict[str, Any]:
        """Puts a network in place and waits until new pods get it; the list that `network` makes.

        Raises Broken.
        """
        document = self.network(*plugins, **members)
        if not self.offer(document, limit_s=_NOTICED_S):
            raise Broken(
                f"{self.subject.name} takes a network of its folder within {_NOTICED_S:g} s",
                f"{document['name']} is what new pods get",
                f"networks {', '.join(self.subject.networks()) or 'none'}",
            )
        return document

    def offer(self, document: Any, limit_s: float = _REFUSED_S) -> bool:
        """Puts a document in place; whether the runtime takes it within the limit."""
        data = document if isinstance(document, bytes) else documents.dump(document)
        self._network = str(document.get("name", "")) if isinstance(document, dict) else ""
        taken = self.taken(document if isinstance(document, dict) else {}, data)
        self.files.write(data)
        return bool(soon(taken, limit_s))

    def taken(self, document: dict[str, Any], data: bytes = b"") -> Callable[[], bool]:
        """Asks whether the network of a file, which is yet to come, is what new pods get."""
        mark, name = len(self._all()), str(document.get("name", ""))
        content = data or documents.dump(document)
        last = document["plugins"][-1] if document.get("plugins") else {}
        letter = str(last.get("type", "")).rpartition("-")[2]

        def probed() -> bool:
            probes = [call for call in self._all()[mark:] if call.verb == "VERSION"]
            ends = [call.end_ns or time.monotonic_ns() for call in probes]
            # More may follow: a runtime that asks does so at every change of a folder.
            over = bool(ends) and time.monotonic_ns() - max(ends) > _QUIET_NS
            return over and any(call.plugin == letter for call in probes)

        def loaded() -> bool:
            with contextlib.suppress(RuntimeRefusal):
                return self.subject.loaded(name, content, probed)
            return False

        return loaded

    def tell(self, letter: str, *faults: dict[str, Any], **answers: Any) -> None:
        """What a recorder answers from its next call on: faults, or an answer by verb."""
        self.recorders.tell(letter, answers, list(faults))

    # Pods

    def pod(self, **members: Any) -> RequestedPod:
        """A pod that nobody has asked for yet, on the network in use."""
        name = members.pop("name", f"{self.name}-p{len(self._pods) + 1}")
        pod = RequestedPod(name=name, uid=str(uuid.uuid4()), network=self._network, **members)
        self._pods.append(pod)
        return pod

    def attempt(self, pod: RequestedPod | None = None, deadline_s: float = 20.0) -> str:
        """Runs a pod; what the runtime said against it, "" where it runs."""
        wanted = pod or self.pod()
        return self._act("run", wanted, lambda: self.subject.run(wanted, timeout(deadline_s)))

    def started(self, pod: RequestedPod | None = None) -> RequestedPod:
        """A pod that has to run; raises Broken."""
        wanted = pod or self.pod()
        if refusal := self.attempt(wanted):
            raise Broken("a pod runs where every plugin succeeds", "no error", refusal)
        return wanted

    def stop(self, pod: RequestedPod) -> str:
        """Asks for the end of a pod's network; what was said against it."""
        return self._act("stop", pod, lambda: self.subject.stop(pod))

    def remove(self, pod: RequestedPod) -> str:
        """Asks for the pod to be forgotten; what was said against it."""
        return self._act("remove", pod, lambda: self.subject.remove(pod))

    def ended(self, pod: RequestedPod) -> str:
        """All that a client can do: stop and remove, where the pod is still known."""
        if not self.subject.known(pod):
            return ""
        return self.stop(pod) or self.remove(pod)

    def check(self, pod: RequestedPod) -> str:
        """Asks for a check where the runtime has a way to; what was said against it."""
        return self._act("check", pod, lambda: self.subject.check(pod))

    def collect(self, *valid: RequestedPod) -> str:
        """Asks for a collection of all but these where there is a way; what was said against it."""
        return self._act("collect", None, lambda: self.subject.collect(list(valid)))

    def kill_during(self, step: str, pod: RequestedPod) -> None:
        """Kills the runtime while a recorder is at it: `b ADD`."""
        what = f"{step} is asked"
        self.subject.kill_during(
            pod, lambda: eventually(lambda: step in self.steps(), _NOTICED_S, what)
        )

    def _act(self, act: str, pod: RequestedPod | None, do: Callable[[], object]) -> str:
        refusal = ""
        try:
            do()
        except RuntimeRefusal as error:
            refusal = describe(error) or "it failed without a word"
        self._bench.journal.record(self._bench.log)
        outcome = Outcome(int(bool(refusal)), stderr=refusal.encode())
        line = self.subject.command(act, pod)
        self._bench.log.note(self.subject.name, Request(act, {}, line.encode()), outcome)
        return refusal

    # What the recorders saw

    def calls(self, *steps: str) -> list[RecordedCall]:
        """The calls of this case, VERSION left out; `b DEL` or `DEL` chooses."""
        mine = [call for call in self._all()[self._mark :] if self._is_mine(call)]
        return [call for call in mine if not steps or {call.step, call.verb} & set(steps)]

    def steps(self) -> list[str]:
        """`a ADD`, `b ADD`, ..., in the order in which they began."""
        return [call.step for call in self.calls()]

    def seen(self) -> int:
        """A place among the calls; `since` has what came after it."""
        return len(self.calls())

    def since(self, place: int) -> list[RecordedCall]:
        """The calls after a place."""
        return self.calls()[place:]

    def running(self, call: RecordedCall) -> bool:
        """Whether the process of a call still runs."""
        return call.end_ns is None and self.subject.reach(f"/proc/{call.pid}").exists()

    def unended(self) -> list[RecordedCall]:
        """The calls whose process still runs."""
        return [call for call in self.calls() if self.running(call)]

    def _all(self) -> list[RecordedCall]:
        return self._bench.journal.calls()

    def _is_mine(self, call: RecordedCall) -> bool:
        """About a network or a pod of this case; not the question for versions."""
        args = dict(pair.partition("=")[::2] for pair in call.env.get("CNI_ARGS", "").split(";"))
        about = (str(call.document.get("name", "")), args.get("K8S_POD_NAME", ""))
        theirs = args.get("K8S_POD_NAMESPACE", "refimpl") != "refimpl"
        mine = any(name.startswith(self.name) for name in about)
        return mine and call.verb != "VERSION" and not theirs

    # What is shared

    def once(self, name: str, record: Callable[[RuntimeUnderTest], Any]) -> Any:
        """What `record` makes of a healthy runtime, recorded once for all cases.

        Raises what it raised, Broken or RuntimeRefusal, in each of them.
        """
        recording = self._bench.recordings.get(name)
        if recording:
            self._bench.shown = recording.calls
        else:
            recording = self._bench.recordings[name] = self._recorded(record)
        if isinstance(recording.outcome, Exception):
            raise recording.outcome
        return recording.outcome

    def _recorded(self, record: Callable[[RuntimeUnderTest], Any]) -> Recording:
        """On a network of its own, so that the case does not see the calls among its own."""
        mark = self._bench.logged()
        scope = CaseScope()
        try:
            outcome = record(RuntimeUnderTest(self._bench, scope))
        except (Broken, RuntimeRefusal) as error:
            outcome = error
        finally:
            scope.close()
        self._bench.logged()
        return Recording(outcome, self._bench.log.since(mark))

    # The end

    def _clean_up(self) -> None:
        """Ends every pod, while the files of its network are there."""
        self.recorders.reset()
        if self.subject.alive() or self.subject.revive():
            self._end(self._pods)

    def _end(self, pods: Sequence[RequestedPod]) -> None:
        for pod in pods:
            with contextlib.suppress(RuntimeRefusal):
                if self.subject.known(pod):
                    self.subject.stop(pod)
                    self.subject.remove(pod)
