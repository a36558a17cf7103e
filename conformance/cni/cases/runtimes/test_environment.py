"""The environment in which a runtime runs plugins, and the namespaces that it names there."""

from __future__ import annotations

from conformance.cni.needs import PODS, RUNTIME_NETNS
from conformance.cni.runtimes.namespaces import is_up
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import pod_session
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.contract import valid_container_id
from refimpl.cni.runtime import namespaces

OURS = {"COMMAND", "CONTAINERID", "NETNS", "IFNAME", "ARGS", "PATH"}
KEYS = [
    "IgnoreUnknown",
    "K8S_POD_NAMESPACE",
    "K8S_POD_NAME",
    "K8S_POD_INFRA_CONTAINER_ID",
    "K8S_POD_UID",
]


@case("CNI-RT-003", "CNI 1.1 Parameters", alone=True)
def test_plugins_get_the_variables_of_the_verb_and_no_others(runtime: RuntimeUnderTest) -> None:
    """A CNI_ variable of the runtime's own environment that reaches a plugin is taken for a word
    of the protocol: CNI_NETNS_OVERRIDE there switches off the check of the own namespace.
    """
    with together() as check:
        for call in pod_session(runtime).adds:
            given = {name.removeprefix("CNI_") for name in call.env if name.startswith("CNI_")}
            needed = OURS - {"ARGS"}
            missing = sorted(name for name in needed if not call.env.get(f"CNI_{name}"))
            with check:
                expect(
                    not missing, "ADD has all its variables", wanted=sorted(needed), got=call.env
                )
            with check:
                expect(not call.twice, "each variable is there once", wanted="once", got=call.twice)
            with check:
                strays = sorted(f"CNI_{name}" for name in given - OURS)
                expect(
                    not strays,
                    "no other CNI_ variable of the runtime's environment reaches a plugin",
                    wanted="none",
                    got=", ".join(strays),
                )


@case("CNI-RT-005", "CNI 1.1 Parameters", alone=True)
def test_a_container_has_one_legal_id_of_its_own(runtime: RuntimeUnderTest) -> None:
    """Plugins file what they hold under the id, and free it by the id."""
    first = pod_session(runtime)
    runtime.use("a")
    runtime.started()
    second = runtime.calls()[0].id
    ids = {call.id for call in first.calls}
    with together() as check:
        with check:
            expect(len(ids) == 1, "all verbs name one container by one id", wanted="one", got=ids)
        for each in (*ids, second):
            with check:
                expect(valid_container_id(each), "ids are legal", wanted="[A-Za-z0-9_.-]", got=each)
        with check:
            expect(second not in ids, "ids are unique", wanted="another id", got=second)


@case("CNI-RT-006", "CNI 1.1 Lifecycle and ordering", needs=[RUNTIME_NETNS], alone=True)
def test_the_namespace_is_there_before_the_first_plugin(runtime: RuntimeUnderTest) -> None:
    """A plugin enters it; where it is none, or the host's own, the pod gets into the node's
    network.
    """
    runtime.use("a", "b")
    pod = runtime.started()
    path = runtime.calls()[0].env.get("CNI_NETNS", "")
    real = namespaces.is_network(str(runtime.subject.reach(path)))
    runtime.check(pod)
    runtime.stop(pod)
    calls = [call for call in runtime.calls() if call.verb != "GC"]
    expect(real, "CNI_NETNS is a network namespace", wanted="a namespace", got=path)
    inodes = {call.netns for call in calls}
    expect(
        len(inodes) == 1 and None not in inodes,
        "all calls about a container are given one and the same namespace",
        wanted="one inode",
        got={call.step: call.netns for call in calls},
    )
    own = {call.own for call in calls}
    expect(not inodes & own, "it is not the runtime's own", wanted=inodes, got=own)


@case("CNI-RT-048", "practice: Kubernetes runtimes", needs=[PODS], alone=True)
def test_the_arguments_name_the_pod_and_nothing_that_its_name_smuggles_in(
    runtime: RuntimeUnderTest,
) -> None:
    """Plugins look the pod up by these; a name with a semicolon could make it another's."""
    for call in pod_session(runtime).adds:
        pairs = [pair.partition("=")[0] for pair in call.env.get("CNI_ARGS", "").split(";")]
        expect(
            sorted(pairs) == sorted(KEYS),
            f"CNI_ARGS of {call.step} has the five keys of a pod",
            wanted=sorted(KEYS),
            got=sorted(pairs),
        )
    runtime.use("a")
    pod = runtime.pod(name="smuggler;K8S_POD_UID=other")
    refused = runtime.attempt(pod)
    args = [call.env.get("CNI_ARGS", "") for call in runtime.calls()]
    smuggled = [each for each in args if "K8S_POD_UID=other" in each]
    expect(
        refused or not smuggled,
        "a pod's name cannot add a pair to CNI_ARGS",
        wanted="the pod is refused, or its name is not sent as it is",
        got=smuggled[:1],
    )


@case("CNI-RT-049", "practice: containerd, CRI-O", needs=[PODS, RUNTIME_NETNS], alone=True)
def test_the_loopback_of_a_pod_is_up(runtime: RuntimeUnderTest) -> None:
    """Programs that talk to themselves over localhost expect it, and no network plugin sees to
    it.
    """
    runtime.use("a")
    runtime.started()
    path = runtime.calls()[0].env.get("CNI_NETNS", "")
    up = is_up(str(runtime.subject.reach(path)), "lo")
    expect(up, "lo is up once a pod runs", wanted="up", got="down")
