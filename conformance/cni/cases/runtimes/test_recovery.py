"""What a runtime still knows after a crash, a reboot, or a change behind its back."""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path
from typing import Any

from conformance.cni.needs import CACHE, CHOSEN_IDS, KILLS, REBOOTS, RESTARTS
from conformance.cni.runtimes.checks import names
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import pod_session, result_of
from conformance.cni.runtimes.subject import RequestedPod
from conformance.engine.case import case
from conformance.engine.verdict import expect, soon, together

ORDER = "CNI 1.1 Lifecycle and ordering"


@case("CNI-RT-028", ORDER, needs=[KILLS, RESTARTS], alone=True)
def test_what_a_killed_runtime_had_begun_is_deleted_in_the_end(runtime: RuntimeUnderTest) -> None:
    """The first plugin has an address ready for a pod that nobody knows of."""
    runtime.tell("b", {"verb": "ADD", "do": "hang", "seconds": 2})
    runtime.use("a", "b")
    pod = runtime.pod()
    runtime.kill_during("b ADD", pod)
    runtime.subject.restart()
    runtime.recorders.reset()
    _freed(runtime, pod, "an attachment that a killed runtime had begun is deleted or collected")


@case("CNI-RT-029", ORDER, needs=[REBOOTS], alone=True)
def test_what_was_attached_before_a_reboot_is_deleted_in_the_end(runtime: RuntimeUnderTest) -> None:
    """Namespaces are gone, the stores of IPAM plugins on the disk are not: node after node has run
    out of addresses by that (seen in the field: cri-o#4727, podman#3759).
    """
    runtime.use("a", "b")
    pod = runtime.started()
    runtime.subject.reboot()
    _freed(runtime, pod, "an attachment of before a reboot is deleted or collected")


def _freed(runtime: RuntimeUnderTest, pod: RequestedPod, rule: str) -> None:
    """DEL of both plugins, or a GC that does not list the pod: by itself or when a client asks."""
    refusal = runtime.ended(pod)
    soon(lambda: _is_free(runtime))
    expect(
        _is_free(runtime),
        rule,
        wanted="DEL of a and b, or GC without it",
        got=f"{names(runtime.calls())} {refusal}",
    )


def _is_free(runtime: RuntimeUnderTest) -> bool:
    deleted = {call.plugin for call in runtime.calls("DEL")}
    collected = {call.plugin for call in runtime.calls("GC")}
    return {"a", "b"} <= deleted | collected


@case("CNI-RT-030", "practice: libcni 1.2", needs=[CACHE], alone=True)
def test_a_kept_result_that_cannot_be_read_keeps_no_pod_from_ending(
    runtime: RuntimeUnderTest,
) -> None:
    """A disk that was full leaves an empty file (seen in the field: cni#1055)."""
    rule, wanted = "DEL goes on without prevResult where the kept file is broken", "DEL of a and b"
    with together() as check:
        for name, data in (("an empty file", b""), ("a file of junk", b"\x00\x01{")):
            runtime.use("a", "b")
            pod, place = runtime.started(), runtime.seen()
            damaged = _files_of(runtime, pod)
            for path in damaged:
                path.write_bytes(data)
            refusal = runtime.ended(pod)
            if not damaged:
                check.found(f"{rule}: {name}", wanted, "nothing is kept of the pod")
            calls = [call for call in runtime.since(place) if call.verb == "DEL"]
            if refusal or {call.plugin for call in calls} != {"a", "b"}:
                check.found(f"{rule}: {name}", wanted, f"{names(calls)}; {refusal}")
            check.found(
                f"{rule}: {name}",
                wanted,
                *(f"{call.step} has prevResult" for call in calls if call.previous),
            )
            for path in damaged:  # so that the pod can go
                path.unlink(missing_ok=True)


def _files_of(runtime: RuntimeUnderTest, pod: RequestedPod) -> list[Path]:
    return list((runtime.subject.cache_dir / "results").glob(f"*{pod.id}*"))


@case("CNI-RT-031", "practice: libcni", needs=[CACHE], alone=True)
def test_the_kept_file_is_the_one_that_others_read(runtime: RuntimeUnderTest) -> None:
    """Tools that clean up after a runtime, and the next version of it, know this format."""
    session = pod_session(runtime)
    add = session.adds[0]
    wanted = f"{session.document['name']}-{add.id}-{add.env.get('CNI_IFNAME')}"
    files = [each for each in session.kept if each.name == wanted]
    rule = "an attachment is kept as cniCacheV1 while it lasts"
    expect(files, rule, wanted=wanted, got=[each.name for each in session.kept])
    kept = _decoded(files[0].data)
    members = {
        "kind": "cniCacheV1",
        "containerId": add.id,
        "ifName": add.env.get("CNI_IFNAME"),
        "networkName": session.document["name"],
    }
    wrong = [name for name, value in members.items() if kept.get(name) != value]
    with together() as check:
        with check:
            expect(not wrong, rule, wanted=members, got={name: kept.get(name) for name in wrong})
        with check:
            expect(kept.get("result"), rule, wanted="the final result", got=kept.get("result"))
        with check:
            expect(
                _config(kept).get("name") == session.document["name"],
                "the kept file has the network list in base64",
                wanted=session.document,
                got=_config(kept),
            )
        mode = files[0].mode, session.folder_mode
        with check:
            expect(mode == (0o600, 0o700), "only its owner reads it", wanted="600 in 700", got=mode)
        left = [each.name for each in session.left if each.name == wanted]
        with check:
            expect(not left, "it goes with DEL", wanted="no file", got=left)


def _decoded(data: bytes) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        kept = json.loads(data)
        return kept if isinstance(kept, dict) else {}
    return {}


def _config(kept: dict[str, Any]) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        return _decoded(base64.b64decode(str(kept.get("config", ""))))
    return {}


@case("CNI-RT-032", "practice: libcni", needs=[CHOSEN_IDS], alone=True)
def test_two_attachments_whose_names_run_together_are_told_apart(runtime: RuntimeUnderTest) -> None:
    """net-b with id c, and net with id b-c: one file name for two results, and DEL would take
    back the other pod's.
    """
    pods = []
    for name, id, address in ((f"{runtime.name}-b", "c", "10.91.7.8/24"), ("", "b-c", "")):
        result = result_of()
        result["ips"][0]["address"] = address or "10.91.7.9/24"
        runtime.tell("a", ADD={"result": result})
        document = runtime.use("a", **({"name": name} if name else {}))
        pods.append((runtime.started(runtime.pod(id=id)), document, result["ips"][0]["address"]))
    for pod, document, address in reversed(pods):
        runtime.offer(document)
        place = runtime.seen()
        refusal = runtime.stop(pod)
        calls = [call for call in runtime.since(place) if call.verb == "DEL"]
        given = [(call.previous or {}).get("ips", [{}])[0].get("address") for call in calls]
        expect(
            given == [address],
            f"DEL of {document['name']}, id {pod.id}, has its own result",
            wanted=address,
            got=f"{given} {refusal}",
        )


@case("CNI-RT-033", ORDER, alone=True)
def test_delete_uses_the_configuration_of_add(runtime: RuntimeUnderTest) -> None:
    """A plugin that was taken out of the list still holds what it made for the pod."""
    runtime.use(runtime.plugin("a", refimpl=1), "b")
    pod = runtime.started()
    runtime.use(runtime.plugin("a", refimpl=2))
    refusal = runtime.stop(pod)
    calls = runtime.calls("DEL")
    members = [(call.plugin, call.document.get("refimpl")) for call in calls]
    expect(
        members == [("b", None), ("a", 1)],
        "DEL goes through the list as it was at ADD",
        wanted="b, then a as it was",
        got=f"{members} {refusal}",
    )
