"""One pod from its ADD to its end, recorded once and looked at by many cases."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import attrs

from conformance.cni.runtimes.calls import RecordedCall
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.subject import (
    BANDWIDTH,
    CACHE,
    NETNS,
    Port,
    RequestedPod,
    Resolver,
    RuntimeRefusal,
    RuntimeSubject,
)
from conformance.engine.verdict import Broken
from refimpl.cni.runtime import namespaces

__all__ = ["FIELDS", "PodSession", "pod_session", "result_of"]

FIELDS: dict[str, Any] = {
    "text": "naïve <&> ☂",
    "nested": {"list": [1, {"deep": {"deeper": None}}], "empty": {}},
    "nothing": None,
    "none": [],
    "yes": True,
    "beyond 2^53": 2**53 + 1,
    "fraction": Decimal("0.1"),
    "large": Decimal("1E+30"),
}
"""What a plugin's own document may hold."""

PORTS = (
    Port(80, 18080, "TCP"),
    Port(81, 0, "TCP"),
    Port(82, 18082, "SCTP", "10.11.12.13"),
    Port(83, 18083, "UDP", "fd00::1"),
)
LIMITS = {BANDWIDTH.format("ingress"): "10M", BANDWIDTH.format("egress"): "2Mi"}
RESOLVER = Resolver(("10.96.0.10",), ("svc.example",), ("ndots:5",))


def result_of(version: str = "$cniVersion", **members: Any) -> dict[str, Any]:
    """A result with one address, whose names are those of the call."""
    return {
        "cniVersion": version,
        "interfaces": [{"name": "$CNI_IFNAME", "sandbox": "$CNI_NETNS"}],
        "ips": [{"address": "10.91.7.2/24", "gateway": "10.91.7.1", "interface": 0}],
        **members,
    }


@attrs.frozen
class CacheFile:
    """A file of the runtime's cache."""

    name: str
    mode: int
    data: bytes


@attrs.frozen
class PodSession:
    """calls: all of it. kept, left: the cache while the pod ran and after its end. real: whether
    its namespace was one.
    """

    document: dict[str, Any]
    pod: RequestedPod
    calls: Sequence[RecordedCall]
    kept: Sequence[CacheFile]
    left: Sequence[CacheFile]
    folder_mode: int
    real: bool | None

    @property
    def steps(self) -> list[str]:
        """`a ADD`, ..."""
        return [call.step for call in self.calls]

    @property
    def adds(self) -> list[RecordedCall]:
        """The ADD of each plugin."""
        return [call for call in self.calls if call.verb == "ADD"]

    @property
    def deletes(self) -> list[RecordedCall]:
        """Every DEL; the first three are those of the first stop."""
        return [call for call in self.calls if call.verb == "DEL"]

    @property
    def result(self) -> dict[str, Any]:
        """What the last plugin answered to ADD."""
        return self.adds[-1].answer if self.adds else {}

    def of(self, step: str) -> RecordedCall | None:
        """The first `a ADD`."""
        return next((call for call in self.calls if call.step == step), None)


def pod_session(runtime: RuntimeUnderTest) -> PodSession:
    """The recorded session; raises Broken where no pod runs at all."""
    session: PodSession = runtime.once("session", _recorded)
    return session


def _recorded(runtime: RuntimeUnderTest) -> PodSession:
    """A pod with everything that a pod can have: run, stopped twice, removed."""
    odd = result_of(refimpl={"kept": [1, 2]})
    odd["interfaces"][0]["refimpl"] = "kept"
    runtime.tell("a", ADD={"result": odd})
    wants = {"portMappings": True, "bandwidth": True, "dns": True, "infinibandGUID": True}
    document = runtime.use(
        runtime.plugin("a", name="own", cniVersion="0.2.0", refimpl=FIELDS, capabilities=wants),
        runtime.plugin("b", capabilities={"portMappings": False}),
        "c",
        cniVersions=["0.4.0", "1.0.0"],
        disableCheck=True,
    )
    pod = runtime.started(runtime.pod(ports=PORTS, annotations=LIMITS, dns=RESOLVER))
    kept, folder_mode = _cache_files(runtime.subject)
    real = _is_real(runtime)
    runtime.stop(pod)
    left, _ = _cache_files(runtime.subject)
    runtime.stop(pod)
    runtime.remove(pod)
    calls = runtime.calls()
    if [call.step for call in calls[:3]] != ["a ADD", "b ADD", "c ADD"]:
        raise Broken("ADD goes through the list in its order", "a ADD, b ADD, c ADD", str(calls))
    return PodSession(document, pod, calls, kept, left, folder_mode, real)


def _is_real(runtime: RuntimeUnderTest) -> bool | None:
    """Whether the namespace that the plugins got is one; None where nobody can look."""
    if NETNS in runtime.subject.lacks:
        return None
    adds = runtime.calls("ADD")
    try:
        return bool(adds) and namespaces.is_network(
            str(runtime.subject.reach(adds[0].env.get("CNI_NETNS", "")))
        )
    except RuntimeRefusal:
        return None


def _cache_files(subject: RuntimeSubject) -> tuple[list[CacheFile], int]:
    """The files of the cache, and the mode of their folder; nothing where it cannot be read."""
    folder = subject.cache_dir / "results"
    if CACHE in subject.lacks or not folder.is_dir():
        return [], 0
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    files = [CacheFile(each.name, each.stat().st_mode & 0o777, each.read_bytes()) for each in paths]
    return files, folder.stat().st_mode & 0o777
