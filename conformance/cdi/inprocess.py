"""Our own library as an implementation, in this process or on stdin and stdout.

`python -m conformance.cdi.inprocess` answers lines of JSON: the model of an adapter for another
library, and what a finding about our own is repeated with.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from conformance.cdi.implementation import EVERY, spoken
from conformance.cdi.mutation import CdiMutant
from conformance.engine.mutants import bent
from conformance.engine.targets import process
from conformance.engine.targets.lines import Message
from conformance.engine.targets.target import Loss
from refimpl import __version__, cdi
from refimpl.cdi import annotations as requests
from refimpl.cdi.host import Lookup, host_node
from refimpl.cdi.rules import Policy
from refimpl.documents import json as documents

# What makes our library say no.
_REFUSALS = (
    cdi.AnnotationError,
    cdi.InjectError,
    cdi.SpecError,
    cdi.Unresolved,
    documents.DocumentError,
    OSError,
)


class InProcess:
    """refimpl.cdi under one policy; `lookup` finds the host's device nodes."""

    name, version, features = "fake", __version__, EVERY

    def __init__(
        self,
        policy: Policy = "strict",
        *,
        lookup: Lookup = host_node,
        mutant: CdiMutant | None = None,
    ) -> None:
        self.policy, self.lookup = policy, lookup
        self.caches: dict[int, cdi.Cache] = {}
        self._mutant = mutant
        self.choices = attrs.evolve(cdi.CHOICES[policy], **(mutant.choices if mutant else {}))
        if mutant is not None:
            mutant.fake = self

    def answer(self, act: str, request: Message) -> Message:
        """The reply of our library, bent by the mutant."""
        proceed: Callable[[Message], Message] = functools.partial(self._answer, act)
        reply: Message = bent(self._mutant, act, proceed)(request)
        return reply

    def resident(self) -> int:
        """The memory of this process, in bytes."""
        return process.resident(os.getpid())

    def lost(self) -> Loss | None:
        """None: it lives as long as we do."""
        return None

    def repeat(self, opened: Message | None, act: str, request: Message) -> str:
        """The line that says the act to this module run as an adapter."""
        words = ["python", "-m", "conformance.cdi.inprocess", self.policy]
        return spoken(words, opened, act, request)

    def close(self) -> None:
        """Closes all caches."""
        for cache in self.caches.values():
            cache.close()
        self.caches = {}

    def _answer(self, act: str, request: Message) -> Message:
        try:
            reply: Message = _ACTS[act](self, request)
        except _REFUSALS as error:
            return {"error": str(error), **_refused(act, request, error)}
        return reply

    def _hello(self, _request: Message) -> Message:
        return {"name": self.name, "version": self.version, "features": sorted(self.features)}

    def _open(self, request: Message) -> Message:
        self.caches[request["cache"]] = cdi.Cache(
            request["directories"], policy=self.policy, watched=request["watched"]
        )
        return {}

    def _load(self, request: Message) -> Message:
        registry = self.caches[request["cache"]].registry
        return {"devices": list(registry.names), "errors": dict(registry.problems)}

    def _inject(self, request: Message) -> Message:
        config = self.caches[request["cache"]].inject(
            request["config"],
            request["devices"],
            choices=self.choices,
            lookup=self.lookup,
        )
        return {"config": config}

    def _create(self, request: Message) -> Message:
        names = requests.requested(request["devices"], request["annotations"])
        return self._inject({**request, "devices": names})

    def _minimum(self, request: Message) -> Message:
        presence = self.policy == "strict"
        return {"version": cdi.minimum_version(request["document"], presence=presence)}

    def _write(self, request: Message) -> Message:
        path = Path(request["path"])
        spec = cdi.parse(documents.dump(request["document"]), policy=self.policy)
        cdi.write(spec, path.parent, name=path.name, policy=self.policy)
        return {}

    def _annotate(self, request: Message) -> Message:
        arguments = (request[name] for name in ("annotations", "plugin", "device_id", "devices"))
        return {"annotations": requests.update(*arguments)}

    def _parse(self, request: Message) -> Message:
        return {"devices": requests.parse(request["annotations"])[1]}

    def _close(self, request: Message) -> Message:
        self.caches.pop(request["cache"]).close()
        return {}


_ACTS: dict[str, Callable[[InProcess, Message], Message]] = {
    "hello": InProcess._hello,
    "open": InProcess._open,
    "load": InProcess._load,
    "inject": InProcess._inject,
    "create": InProcess._create,
    "minimum": InProcess._minimum,
    "write": InProcess._write,
    "annotate": InProcess._annotate,
    "parse": InProcess._parse,
    "close": InProcess._close,
}


def _refused(act: str, request: Message, error: Exception) -> Message:
    if act not in ("inject", "create"):
        return {}
    names = list(error.names) if isinstance(error, cdi.Unresolved) else []
    return {"config": request["config"], "unresolved": names}


def serve(policy: Policy = "strict") -> None:
    """Answers {"act": ..., ...} line by line until stdin ends."""
    ours = InProcess(policy)
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        print(json.dumps(ours.answer(request.pop("act"), request), default=float), flush=True)
    ours.close()


if __name__ == "__main__":
    serve("practice" if "practice" in sys.argv[1:] else "strict")
