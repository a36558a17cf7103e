"""RunPodSandbox: what comes of it, and what it has to refuse."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable

from conformance.cri.needs import HANDLER, POD_NETWORK
from conformance.cri.pods import RUN_LABEL
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Refused

_S = 1_000_000_000
_NOTES = {"empty": "", "text": "zwölf\n\t✓", "large": "x" * (64 << 10), "a.b/c-d": '{"a": 1}'}
_NO_SUCH = "refimpl-no-such-handler"


def _expect_nothing(
    cri: CriTarget, config: pb.PodSandboxConfig, rule: str, handler: str = ""
) -> None:
    """A sandbox of this configuration is refused, and then there is none."""
    expect_refusal(lambda: cri.pods.ask(config, handler), rule)
    left = cri.kubelet.list_pod_sandboxes(uid=config.metadata.uid)
    expect(not left, f"{rule}, nothing is listed", wanted=[], got=left)


@case("CRI-SB-001", "CRI v1 RunPodSandbox: success is a READY sandbox")
def test_a_sandbox_is_ready_and_listed(cri: CriTarget) -> None:
    """Kubelet goes on with the containers at once."""
    pod = cri.pods.run()
    expect(pod.id, "RunPodSandbox answers with an id", wanted="an id", got=pod.id)
    state = pod.status().state
    expect(state == pb.SANDBOX_READY, "it is READY", wanted=pb.SANDBOX_READY, got=state)
    expect(pod.listed(), "it is listed", wanted=pod.id, got="none of that id")


@case("CRI-SB-002", "CRI v1 PodSandboxConfig.metadata is required")
def test_a_sandbox_without_metadata_is_refused(cri: CriTarget) -> None:
    """Nobody could tell whose it is."""
    for request in (
        pb.RunPodSandboxRequest(),
        pb.RunPodSandboxRequest(config=pb.PodSandboxConfig()),
    ):
        expect_refusal(
            lambda request=request: cri.runtime.RunPodSandbox(request),  # type: ignore[misc]
            "a sandbox without metadata is refused",
        )
    nameless = [each for each in cri.kubelet.list_pod_sandboxes() if not each.metadata.name]
    expect(not nameless, "nothing is listed of it", wanted=[], got=nameless)


@case("CRI-SB-003", "CRI v1 RunPodSandboxRequest.runtime_handler: an unknown one is rejected")
def test_an_unknown_handler_is_refused(cri: CriTarget) -> None:
    """A pod that asks for a sandbox of its own kind must not run in a weaker one."""
    _expect_nothing(cri, cri.pods.config(), "an unknown handler is refused", _NO_SUCH)


@case("CRI-SB-004", "CRI v1 RunPodSandboxRequest.runtime_handler: empty is the default one")
def test_no_handler_is_the_default_one(cri: CriTarget) -> None:
    """Most pods name none."""
    handler = cri.pods.run().status().runtime_handler
    expect(handler == "", "the status tells the handler that was sent", wanted="", got=handler)


@case("CRI-SB-005", "CRI v1 PodSandboxStatus.runtime_handler", needs=[HANDLER])
def test_a_named_handler_is_shown_in_status_and_list(cri: CriTarget) -> None:
    """Kubelet compares it with the RuntimeClass of the pod."""
    name = cri.handler()
    pod = cri.pods.ask(cri.pods.config(), name)
    item = pod.listed()
    shown = (pod.status().runtime_handler, item.runtime_handler if item else None)
    expect(shown == (name, name), "both tell the handler", wanted=(name, name), got=shown)


@case("CRI-SB-006", "CRI v1 PodSandboxMetadata: the name of one sandbox")
def test_the_same_metadata_never_make_two_sandboxes(cri: CriTarget) -> None:
    """Kubelet repeats a call whose answer was lost."""
    _expect_one(cri, cri.kubelet.pod_sandbox_status)


@case("CRI-SB-074", "CRI v1 PodSandboxMetadata: the name of one sandbox")
def test_a_stopped_sandbox_is_not_made_ready_again(cri: CriTarget) -> None:
    """Kubelet counts attempt up, so that what is left of the first can be told from the second."""
    _expect_one(cri, cri.kubelet.stop_pod_sandbox)


def _expect_one(cri: CriTarget, between: Callable[[str], object]) -> None:
    config = cri.pods.config()
    first = cri.pods.ask(config)
    between(first.id)
    try:
        second = cri.pods.ask(config).id
    except Refused:
        second = first.id
    expect(second == first.id, "the answer is an error or the same id", wanted=first.id, got=second)
    same = [each for each in cri.kubelet.list_pod_sandboxes() if each.metadata == config.metadata]
    expect(len(same) == 1, "one sandbox has the metadata", wanted=1, got=same)


@case("CRI-SB-007", "kubelet: a new sandbox of a pod has the next attempt")
def test_the_next_attempt_of_a_pod_is_another_sandbox(cri: CriTarget) -> None:
    """That is how kubelet replaces one that broke down, while the first is still there."""
    config = cri.pods.config()
    first = cri.pods.ask(config)
    first.stop()
    config.metadata.attempt += 1
    second = cri.pods.ask(config)
    expect(second.id != first.id, "it has an id of its own", wanted="another id", got=second.id)
    state = second.status().state
    expect(state == pb.SANDBOX_READY, "it is READY", wanted=pb.SANDBOX_READY, got=state)


@case("CRI-SB-008", "kubelet: a pod made anew has another uid")
def test_a_pod_of_another_uid_may_have_the_same_name(cri: CriTarget) -> None:
    """A static pod is replaced while the old one is still ending."""
    config = cri.pods.config()
    first = cri.pods.ask(config)
    other = cri.pods.ask(cri.pods.config(name=config.metadata.name))
    expect(other.id != first.id, "it has an id of its own", wanted="another id", got=other.id)


@case("CRI-SB-009", "containerd, CRI-O: a removed sandbox frees its name")
def test_the_name_of_a_removed_sandbox_is_free(cri: CriTarget) -> None:
    """What was not cleaned up would keep a pod from running again until the node restarts."""
    config = cri.pods.config()
    first = cri.pods.ask(config)
    first.remove()
    second = cri.pods.ask(config)
    expect(second.id != first.id, "it is a new sandbox", wanted="another id", got=second.id)


@case("CRI-SB-010", "CRI v1 PodSandboxStatus.annotations: as they were given")
def test_labels_and_annotations_come_back_as_they_were(cri: CriTarget) -> None:
    """Kubelet finds its pods by them; what a runtime adds, kubelet does not know."""
    labels = {"app": "web", RUN_LABEL: "x", "empty": ""}
    notes = {"example.com/note": "one", "another": ""}
    pod = cri.pods.run(labels=labels, annotations=notes)
    for what, shown in (("status", pod.status()), ("list", pod.listed())):
        assert shown is not None
        given = (dict(shown.labels), dict(shown.annotations))
        expect(
            given == (labels, notes), f"{what} has both as given", wanted=(labels, notes), got=given
        )


@case("CRI-SB-011", "CRI v1 PodSandboxStatus.annotations: MUST NOT be altered")
def test_annotations_are_kept_to_the_byte(cri: CriTarget) -> None:
    """Tools keep documents in them, and compare."""
    pod = cri.pods.run(annotations=_NOTES)
    shown = dict(pod.status().annotations)
    for name, value in _NOTES.items():
        expect(
            shown.get(name) == value,
            f"the annotation {name!r} is as it was",
            wanted=value[:50],
            got=shown.get(name, "none")[:50],
        )


@case("CRI-SB-012", "CRI v1 PodSandboxStatus.created_at: nanoseconds, above 0")
def test_a_sandbox_knows_when_it_was_made(cri: CriTarget) -> None:
    """Kubelet takes the newest for the one that counts."""
    began = time.time_ns()
    pod = cri.pods.run()
    ended = time.time_ns()
    made, item = pod.status().created_at, pod.listed()
    between = began - _S <= made <= ended + _S
    expect(between, "it was made during the call", wanted=(began, ended), got=made)
    listed = item.created_at if item else None
    expect(listed == made, "status and list agree", wanted=made, got=listed)


@case("CRI-SB-013", "kubelet: PodIP is what the status tells", needs=[POD_NETWORK])
def test_each_sandbox_has_an_address_of_its_own(cri: CriTarget) -> None:
    """Services send to it."""
    ips = [cri.pods.run(host_network=False).status().network.ip for _ in range(3)]
    for ip in ips:
        expect(_usable(ip), "it is an address others can reach", wanted="an IP", got=ip)
    expect(len(set(ips)) == 3, "no two are the same", wanted="three", got=ips)


def _usable(text: str) -> bool:
    try:
        return not ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False


@case("CRI-SB-015", "CRI v1 PodSandboxNetworkStatus: empty on the network of the node")
def test_a_sandbox_on_the_nodes_network_has_no_address(cri: CriTarget) -> None:
    """Kubelet takes the addresses of the node for it."""
    ip = cri.pods.run().status().network.ip
    expect(ip == "", "network.ip is empty", wanted="", got=ip)


@case("CRI-SB-016", "CRI v1 PodSandboxConfig.hostname: may be empty on the node's network")
def test_no_hostname_is_needed_on_the_nodes_network(cri: CriTarget) -> None:
    """It has that of the node."""
    config = cri.pods.config()
    config.hostname = ""
    state = cri.pods.ask(config).status().state
    expect(state == pb.SANDBOX_READY, "it is READY", wanted=pb.SANDBOX_READY, got=state)


@case("CRI-SB-018", "Linux sethostname: 64 characters at most", needs=[POD_NETWORK])
def test_a_hostname_that_is_too_long_is_refused(cri: CriTarget) -> None:
    """And nothing is left of it: a network that was set up would leak with each try."""
    config = cri.pods.config(host_network=False)
    config.hostname = "h" * 65
    _expect_nothing(cri, config, "a hostname of 65 characters is refused")
    config.hostname = "h" * 64
    state = cri.pods.ask(config).status().state
    expect(state == pb.SANDBOX_READY, "one of 64 is READY", wanted=pb.SANDBOX_READY, got=state)


@case("CRI-SB-023", "CRI v1 PortMapping.host_port: 0 is none", needs=[POD_NETWORK])
def test_a_host_port_of_0_is_none(cri: CriTarget) -> None:
    """Kubelet sends it with every containerPort."""
    ports = [pb.PortMapping(container_port=80, host_port=0)]
    state = cri.pods.run(host_network=False, ports=ports).status().state
    expect(state == pb.SANDBOX_READY, "it is READY", wanted=pb.SANDBOX_READY, got=state)


@case("CRI-SB-032", "CRI-O, containerd: a sysctl of the network would be that of the node")
def test_a_sysctl_of_the_nodes_network_is_refused(cri: CriTarget) -> None:
    """A pod would change how the node itself behaves."""
    config = cri.pods.config(sysctls={"net.ipv4.ip_local_port_range": "1024 65000"})
    _expect_nothing(cri, config, "a sysctl of the node's network is refused")


@case("CRI-SB-033", "Linux: a sysctl that is none", needs=[POD_NETWORK])
def test_a_sysctl_that_does_not_exist_is_refused(cri: CriTarget) -> None:
    """A typing error must not be taken for done; and nothing is left."""
    config = cri.pods.config(host_network=False, sysctls={"kernel.refimpl_no_such": "1"})
    _expect_nothing(cri, config, "an unknown sysctl is refused")


@case("CRI-SB-034", "CRI v1 LinuxSandboxSecurityContext.run_as_group: MUST have a user")
def test_a_group_without_a_user_is_refused(cri: CriTarget) -> None:
    """Which user would it be the group of?"""
    config = cri.pods.config()
    config.linux.security_context.run_as_group.value = 1000
    _expect_nothing(cri, config, "run_as_group without run_as_user is refused")


@case("CRI-SB-072", "CRI v1 PortMapping.host_port: 0 < x < 65536", needs=[POD_NETWORK])
def test_a_host_port_that_is_none_is_refused(cri: CriTarget) -> None:
    """Before a network is set up for it."""
    for port in (-1, 65536):
        ports = [pb.PortMapping(container_port=80, host_port=port)]
        config = cri.pods.config(host_network=False, ports=ports)
        _expect_nothing(cri, config, f"host_port {port} is refused")


@case("CRI-SB-073", "cri-client: a sandbox without them is refused by every client")
def test_metadata_have_name_uid_and_namespace(cri: CriTarget) -> None:
    """cri-client refuses each status of such a sandbox, so that nobody can stop it any more."""
    for field in ("name", "uid", "namespace"):
        config = cri.pods.config()
        setattr(config.metadata, field, "")
        expect_refusal(
            lambda config=config: cri.pods.ask(config),  # type: ignore[misc]
            f"metadata with an empty {field} are refused",
        )
