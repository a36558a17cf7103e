"""A plugin under test: its requests as a runtime makes them, and the state they leave."""

from __future__ import annotations

import contextlib
import copy
import itertools
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.outcomes import object_of, result_of, succeeded
from conformance.cni.plugins.prev_result import PluginsBefore, prev_result_for
from conformance.cni.plugins.subject import PluginSubject
from conformance.engine.scope import CaseScope
from conformance.engine.verdict import timeout
from refimpl.cni.contract import ShapeError, Verb
from refimpl.cni.execute import PLAIN, Conditions, Executor, Log, Outcome, Request
from refimpl.cni.host import Host, HostError, Snapshot, tree

DEADLINE_S = 10.0
"""No call of a healthy plugin takes that long; runtimes give it minutes."""

SEARCH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
"""What a plugin has of a runtime's own environment: enough to find iptables."""

_GIVEN: Any = object()  # prevResult as a runtime would set it for the verb


class PluginUnderTest:
    """The plugin during one case, with a network name, a folder and pods of the case's own.

    scope: at its end every pod that is still attached is DELed, and its namespace and the folder
    are removed.
    """

    def __init__(
        self,
        subject: PluginSubject,
        host: Host | None,
        executor: Executor,
        log: Log,
        scope: CaseScope,
        *,
        name: str,
        attaches: bool = True,
        seed: int = 0,
    ) -> None:
        self.subject, self.settings = subject, subject.settings
        self._host, self._executor, self._log = host, executor, log
        self._attaches, self.scope, self.seed = attaches, scope, seed
        self.name, self.kind = subject.name, subject.kind
        self.versions, self.newest = tuple(subject.versions), subject.newest
        self.network = name
        self.folder = Path(tempfile.mkdtemp(prefix="refimpl-cni-"))
        scope.callback(lambda: shutil.rmtree(self.folder, ignore_errors=True))
        self.data_dir = self.folder / "ipam"
        self.cni_path = subject.cni_path
        self._numbers = itertools.count(1)
        self._pods: list[CniAttachment] = []
        self._before = PluginsBefore(host)

    @property
    def host(self) -> Host:
        """The machine it works on; a case that looks at it has the need NETNS."""
        assert self._host is not None, "a case that looks at the host lacks its need NETNS"
        return self._host

    @property
    def has_host(self) -> bool:
        """Whether there are namespaces to look into."""
        return self._host is not None

    @property
    def attaches(self) -> bool:
        """Whether ADD can succeed here: the need ATTACHES as a question."""
        where = self.kind == "ipam" or (self._host is not None and self._attaches)
        return where and not self.subject.unserved

    def state(self) -> Snapshot:
        """What is now: namespaces, links, routes, rules, and which files there are below the
        folder; not what is in them, since a store may remember where it stopped. Without
        namespaces only the files.
        """
        seen = self.host.snapshot(self.folder) if self._host else Snapshot(files=tree(self.folder))
        return attrs.evolve(seen, files=dict.fromkeys(seen.files, "a file"))

    # What a runtime would send

    def config(self, version: str = "", **members: Any) -> dict[str, Any]:
        """The document for one call, without prevResult; members set to None are left out."""
        document = copy.deepcopy(dict(self.subject.config))
        document |= {"cniVersion": version or self.newest, "name": self.network}
        ipam = document.get("ipam")
        if self.settings.data_dir and isinstance(ipam, dict) and ipam.get("type"):
            ipam.setdefault("dataDir", str(self.data_dir))
        document |= members
        return {key: value for key, value in document.items() if value is not None}

    def ipam(self, **members: Any) -> dict[str, Any]:
        """The ipam member of the document with changes; members set to None are left out."""
        ipam = {**self.config().get("ipam", {}), **members}
        return {key: value for key, value in ipam.items() if value is not None}

    def request(
        self,
        verb: str,
        pod: CniAttachment | None = None,
        config: Mapping[str, Any] | bytes | None = None,
        *,
        prev_result: Any = _GIVEN,
        valid: Sequence[CniAttachment] | None = None,
    ) -> Request:
        """A call as a runtime makes it; cases bend it with `with_env` and `with_stdin`.

        valid: what GC is to keep. prev_result: None leaves it out.
        """
        document = config if config is not None else self.config()
        if not isinstance(document, bytes):
            document = dict(document)
            previous = (
                prev_result_for(verb, pod, document) if prev_result is _GIVEN else prev_result
            )
            if previous is not None:
                document["prevResult"] = previous
            if valid is not None:
                document["cni.dev/valid-attachments"] = [each.attachment for each in valid]
        if pod is None:
            return Request.of(verb, document, path=self.cni_path, extra=SEARCH)
        return Request.of(
            verb,
            document,
            container_id=pod.container_id,
            netns=pod.netns,
            ifname=pod.ifname,
            args=pod.args,
            path=self.cni_path,
            extra=SEARCH,
        )

    # Calls

    def run(
        self,
        request: Request,
        *,
        deadline_s: float = DEADLINE_S,
        conditions: Conditions = PLAIN,
    ) -> Outcome:
        """One exec, on record."""
        self._before.precede(request)
        netns = os.path.exists(request.env.get("CNI_NETNS", ""))
        outcome = self._executor.run(
            self.subject.path, request, deadline_s=timeout(deadline_s), conditions=conditions
        )
        self._log.note(self.subject.path, request, outcome, netns=netns, conditions=conditions)
        return outcome

    def add(
        self, pod: CniAttachment, config: Mapping[str, Any] | None = None, **how: Any
    ) -> Outcome:
        """ADD; a result is kept in the pod. The pod is DELeted when the case ends."""
        document = dict(config) if config is not None else self.config()
        outcome = self.run(self.request(Verb.ADD, pod, document, **how))
        pod.config, pod.open = document, True
        self._keep(pod)
        if outcome.ok:
            pod.result = object_of(outcome)
        return outcome

    def delete(
        self, pod: CniAttachment, config: Mapping[str, Any] | None = None, **how: Any
    ) -> Outcome:
        """DEL, with the document of the ADD unless another is given."""
        outcome = self.run(self.request(Verb.DEL, pod, config or pod.config, **how))
        pod.open = pod.open and not outcome.ok
        return outcome

    def check(
        self, pod: CniAttachment, config: Mapping[str, Any] | None = None, **how: Any
    ) -> Outcome:
        """CHECK, likewise."""
        return self.run(self.request(Verb.CHECK, pod, config or pod.config, **how))

    def gc(
        self, valid: Sequence[CniAttachment] | None, config: Mapping[str, Any] | None = None
    ) -> Outcome:
        """GC that keeps `valid`; None: without the list."""
        return self.run(self.request(Verb.GC, None, config, valid=valid))

    def status(self, config: Mapping[str, Any] | None = None) -> Outcome:
        """STATUS."""
        return self.run(self.request(Verb.STATUS, None, config))

    # Calls that have to succeed

    def added(
        self, pod: CniAttachment, config: Mapping[str, Any] | None = None, **how: Any
    ) -> dict[str, Any]:
        """ADD that has to succeed; its result. Raises Broken."""
        outcome = self.add(pod, config, **how)
        return result_of(outcome, "ADD has to succeed here and to print its result")

    def deleted(
        self, pod: CniAttachment, config: Mapping[str, Any] | None = None, **how: Any
    ) -> None:
        """DEL that has to succeed. Raises Broken."""
        succeeded(self.delete(pod, config, **how), "DEL has to succeed here")

    def checked(self, pod: CniAttachment, config: Mapping[str, Any] | None = None) -> None:
        """CHECK that has to succeed. Raises Broken."""
        succeeded(self.check(pod, config), "CHECK has to succeed here")

    # Pods

    def pod(self, **changes: Any) -> CniAttachment:
        """A container that has no interface yet, in a namespace of its own unless `netns` is given;
        with what the plugins before a chained one would have made of it.
        """
        number = next(self._numbers)
        netns = str(changes.get("netns", "")) or self._new_netns(number)
        pod = CniAttachment(
            f"{self.network}-{number}", netns, self.subject.ifname, self.settings.args
        )
        pod = pod.other(**changes)
        if self.kind == "chained":
            pod.before = self._before.attach(pod)
        self._before_add()
        self._keep(pod)
        return pod

    def _keep(self, pod: CniAttachment) -> None:
        """Undoes a pod with the case."""
        if pod not in self._pods:
            self._pods.append(pod)
            self.scope.callback(lambda: self._undo(pod))

    def _undo(self, pod: CniAttachment) -> None:
        if pod.open:
            with contextlib.suppress(OSError, ShapeError):
                self.delete(pod)
        if self._host:
            with contextlib.suppress(HostError):
                self._host.remove_netns(pod.netns)

    def _new_netns(self, number: int) -> str:
        return self._host.make_netns() if self._host else f"{self.folder}/netns-{number}"

    def attached(self, **changes: Any) -> CniAttachment:
        """A pod whose ADD succeeded."""
        pod = self.pod(**changes)
        self.added(pod)
        return pod

    def _before_add(self) -> None:
        """The links of the host that the configuration names, where they are not there."""
        for member in ("master", "device"):
            name = self.subject.config.get(member)
            if self._host and isinstance(name, str) and name not in self._host.links(None):
                self._host.add_link(None, name)
