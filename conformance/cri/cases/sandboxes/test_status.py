"""PodSandboxStatus."""

from __future__ import annotations

import json

from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code

_PREFIX = 12


@case("CRI-SB-036", "kubelet looks for NotFound (IsNotFound)")
def test_an_unknown_sandbox_is_not_found(cri: CriTarget) -> None:
    """Kubelet takes any other error for one that may pass, and tries for ever."""
    expect_refusal(
        lambda: cri.kubelet.pod_sandbox_status(cri.pods.unknown_id()),
        "the status of an unknown sandbox is NOT_FOUND",
        preferred={Code.NOT_FOUND},
    )


@case("CRI-SB-037", "crictl: tables cut ids off, and people paste them")
def test_the_beginning_of_an_id_is_enough(cri: CriTarget) -> None:
    """As with every tool that shows such ids."""
    pod = cri.pods.shared()
    id = cri.kubelet.pod_sandbox_status(pod.id[:_PREFIX]).status.id
    expect(id == pod.id, "the reply has the whole id", wanted=pod.id, got=id)


@case("CRI-SB-038", "CRI v1 PodSandboxStatusResponse.info: only if verbose")
def test_details_come_on_demand_only(cri: CriTarget) -> None:
    """Kubelet asks for each pod, again and again."""
    info = dict(cri.kubelet.pod_sandbox_status(cri.pods.shared().id).info)
    expect(not info, "info is empty without verbose", wanted={}, got=info)


@case("CRI-SB-039", "CRI v1 PodSandboxStatusResponse.info: JSON, with what there is to debug")
def test_details_are_json_and_have_pid_or_config(cri: CriTarget) -> None:
    """crictl inspectp is where one looks when a pod does not start."""
    info = cri.kubelet.pod_sandbox_status(cri.pods.shared().id, verbose=True).info
    documents = {}
    for name, value in info.items():
        try:
            documents[name] = json.loads(value)
        except ValueError:
            expect(False, f"info[{name!r}] is JSON", wanted="JSON", got=value)
    known = [each for each in documents.values() if isinstance(each, dict)]
    expect(
        any({"pid", "config"} & set(each) for each in known),
        "one of them has the pid or the config",
        wanted="pid or config",
        got=documents,
    )


@case("CRI-SB-040", "kubelet: evented PLEG takes a timestamp for containers that are complete")
def test_a_timestamp_comes_with_the_containers(cri: CriTarget) -> None:
    """A timestamp alone makes kubelet believe that all containers are gone."""
    pod = cri.pods.run()
    reply = cri.kubelet.pod_sandbox_status(pod.id)
    listed = len(cri.kubelet.list_containers(sandbox_id=pod.id))
    complete = len(reply.containers_statuses) == listed
    expect(
        complete if reply.timestamp else not reply.containers_statuses,
        "timestamp and containers_statuses are there together",
        wanted="both or neither",
        got=reply,
    )


@case("CRI-SB-041", "CRI v1 LinuxPodSandboxStatus.namespaces")
def test_the_status_tells_its_namespaces(cri: CriTarget) -> None:
    """Kubelet compares them with the pod, and makes a new sandbox where they differ."""
    config = cri.pods.config()
    sent = config.linux.security_context.namespace_options
    sent.pid = pb.CONTAINER
    shown = cri.pods.ask(config).status().linux.namespaces.options
    for name in ("network", "pid", "ipc"):
        wanted, got = getattr(sent, name), getattr(shown, name)
        expect(wanted == got, f"{name} is as it was sent", wanted=wanted, got=got)
