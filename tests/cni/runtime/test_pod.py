"""What strict, containerd and CRI-O do for the sandbox of a pod."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from refimpl.cni.runtime import (
    BadAnswer,
    DaemonDies,
    PluginFailed,
    PluginMissing,
    Runtime,
)
from refimpl.cni.runtime.kubernetes import Pod
from refimpl.cni.runtime.pod import PodNetwork
from tests.cni.runtime.conftest import RESULT, Asked, Plugins, network, refused

Make = Callable[..., Runtime]
LO = {
    "cniVersion": "0.3.1",
    "interfaces": [{"name": "lo", "sandbox": "/ns"}],
    "ips": [{"version": "4", "address": "127.0.0.1/8", "interface": 0}],
}


@pytest.fixture
def pod(tmp_path: Path, plugins: Plugins) -> Pod:
    """A pod with a file that stands for its namespace; loopback is installed."""
    (tmp_path / "ns").touch()
    plugins.install("loopback")
    plugins.answers["loopback ADD"] = LO
    return Pod(id="c1", netns=str(tmp_path / "ns"), name="web")


def pods(runtime: Runtime, *names: str, **more: Any) -> PodNetwork:
    """A network a name, each with the plugin of that name."""
    more = {"loopback": lambda _path: None, **more}
    return PodNetwork(runtime, [network(name, name=f"n-{name}") for name in names], **more)


def test_strict_attaches_one_after_the_other_and_detaches_in_reverse(
    runtime: Make, plugins: Plugins, pod: Pod
) -> None:
    """RT-049, RT-050: unique interfaces, lo raised first, addresses of eth0."""
    raised: list[str] = []
    pod_network = pods(runtime(), "one", "two", loopback=raised.append)
    attached = pod_network.setup(pod)
    assert raised == [pod.netns]
    assert [ifname for _, ifname, _ in attached.results] == ["eth0", "eth1"]
    assert plugins.order == ["one ADD", "two ADD"]
    assert attached.addresses == ("10.1.0.2",) * 2
    assert plugins.asked[0].env["CNI_ARGS"].startswith("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;")
    pod_network.teardown(pod)
    assert plugins.order[2:] == ["two DEL", "one DEL"]


def test_strict_takes_back_what_was_attached_before_the_failure(
    runtime: Make, plugins: Plugins, pod: Pod
) -> None:
    """RT-025: with the result; networks never reached are left alone."""
    plugins.answers["two ADD"] = refused()
    pod_network = pods(runtime(), "one", "two", "three")
    with pytest.raises(PluginFailed):
        pod_network.setup(pod)
    assert plugins.order == ["one ADD", "two ADD", "two DEL", "one DEL"]
    assert plugins.last("one DEL").document["prevResult"] == RESULT
    assert pod_network.runtime.kept == []


def test_strict_tries_every_network_on_teardown(runtime: Make, plugins: Plugins, pod: Pod) -> None:
    """One that fails does not keep the addresses of the others."""
    pod_network = pods(runtime(), "one", "two", "three")
    pod_network.setup(pod)
    plugins.answers |= {"two DEL": [refused(7, "busy"), None]}
    with pytest.raises(ExceptionGroup) as caught:
        pod_network.teardown(pod)
    assert [str(each) for each in caught.value.exceptions] == [
        "two DEL: busy (code 7 INVALID_CONFIG)"
    ]
    assert plugins.order[3:] == ["three DEL", "two DEL", "one DEL"]
    pod_network.teardown(pod)
    assert pod_network.runtime.kept == []


def test_containerd_runs_loopback_as_a_network_and_all_at_once(
    runtime: Make, plugins: Plugins, pod: Pod
) -> None:
    """RT-049, RT-050, D13: lo and eth0 overlap; DEL goes forward."""
    together = threading.Barrier(3, timeout=10)

    def wait(answer: Any) -> Callable[[Asked], Any]:
        def work(_asked: Asked) -> Any:
            together.wait()
            return answer

        return work

    plugins.answers |= {"loopback ADD": wait(LO), "one ADD": wait(RESULT), "two ADD": wait(RESULT)}
    pod_network = pods(runtime("go-cni"), "one", "two")
    attached = pod_network.setup(pod)
    assert [ifname for _, ifname, _ in attached.results] == ["lo", "eth0", "eth1"]
    loopback = plugins.last("loopback ADD")
    assert (loopback.env["CNI_IFNAME"], loopback.document["name"]) == ("lo", "cni-loopback")
    pod_network.teardown(pod)
    assert plugins.order[3:] == ["loopback DEL", "one DEL", "two DEL"]


def test_containerd_forgets_a_failed_clean_up(runtime: Make, plugins: Plugins, pod: Pod) -> None:
    """containerd#12130: DEL halts at a plugin that is missing; the one below keeps its address."""
    pod_network = PodNetwork(runtime("go-cni"), [network("one", "missing")])
    with pytest.raises(PluginMissing) as caught:
        pod_network.setup(pod)
    assert "nobody repeats it" in caught.value.__notes__[0]
    assert "one DEL" not in plugins.order


def test_containerd_forgives_what_is_not_found(runtime: Make, plugins: Plugins, pod: Pod) -> None:
    """And goes on with the next network; any other error ends it."""
    pod_network = pods(runtime("go-cni"), "one", "two")
    plugins.answers["one DEL"] = refused(7, "link not found")
    pod_network.teardown(pod)
    assert plugins.order[-1] == "two DEL"
    plugins.answers["one DEL"] = refused(7, "no such file or directory")
    with pytest.raises(PluginFailed):
        pod_network.teardown(pod)
    pod_network.teardown(attrs.evolve(pod, netns=""))
    assert plugins.order[-1] == "two DEL"


@pytest.mark.parametrize("index", [1, -1])
def test_containerd_dies_of_an_index(runtime: Make, plugins: Plugins, pod: Pod, index: int) -> None:
    """RT-019: nothing is taken back, the kept files stay."""
    bad = {**RESULT, "ips": [{"address": "10.1.0.2/24", "interface": index}]}
    plugins.answers["one ADD"] = bad
    pod_network = pods(runtime("go-cni"), "one")
    with pytest.raises(DaemonDies, match=f"interface index {index} with 1 interfaces"):
        pod_network.setup(pod)
    assert not [name for name in plugins.order if name.endswith("DEL")]
    assert len(pod_network.runtime.kept) == 2


def test_containerd_refuses_an_index_far_out(runtime: Make, plugins: Plugins, pod: Pod) -> None:
    """RT-019: its bound catches that."""
    bad = {**RESULT, "ips": [{"address": "10.1.0.2/24", "interface": 2}]}
    plugins.answers["one ADD"] = bad
    with pytest.raises(BadAnswer, match="interface index 2"):
        pods(runtime("go-cni"), "one").setup(pod)
    assert plugins.order[-1] == "one DEL"


@pytest.mark.parametrize(
    ("profile", "fails"), [("go-cni", True), ("ocicni", False), ("strict", False)]
)
def test_a_pod_without_an_address(
    runtime: Make, plugins: Plugins, pod: Pod, profile: str, fails: bool
) -> None:
    """RT-020: a failure for containerd only."""
    plugins.answers["one ADD"] = {"cniVersion": "1.1.0", "interfaces": [{"name": "eth0"}]}
    pod_network = pods(runtime(profile), "one")
    if fails:
        with pytest.raises(BadAnswer, match="no address for eth0"):
            pod_network.setup(pod)
        assert plugins.order[-1] == "one DEL"
    else:
        assert pod_network.setup(pod).addresses == ()


def test_crio_checks_with_every_status_and_deletes_what_it_kept(
    runtime: Make, plugins: Plugins, pod: Pod
) -> None:
    """RT-035: containerd never checks."""
    pod_network = pods(runtime("ocicni"), "two", "one")
    pod = attrs.evolve(pod, networks=["n-two", "n-one"])
    pod_network.setup(pod)
    assert pod_network.check(pod) == []
    pod_network.teardown(pod)
    # In the order of the file names: n-one before n-two.
    assert plugins.order[2:] == ["two CHECK", "one CHECK", "one DEL", "two DEL"]
    assert pods(runtime("go-cni"), "one").check(pod) == ["go-cni never calls CHECK"]


def test_crio_does_not_check_what_is_too_old(runtime: Make, plugins: Plugins, pod: Pod) -> None:
    """RT-034."""
    old = network("one", cniVersion="0.3.1")
    pod_network = PodNetwork(runtime("ocicni"), [old], loopback=lambda _path: None)
    assert pod_network.check(pod) == ["net: version 0.3.1 is before 0.4.0"]
    assert plugins.order == []


@pytest.mark.parametrize(("profile", "count"), [("strict", 2), ("go-cni", 2), ("ocicni", 1)])
def test_readiness_hangs_on_status(
    runtime: Make, plugins: Plugins, profile: str, count: int
) -> None:
    """RT-037: of all networks, or of the default one."""
    pod_network = pods(runtime(profile), "one", "two")
    assert pod_network.status() == []
    assert plugins.order == ["one STATUS", "two STATUS"][:count]
    plugins.answers["one STATUS"] = refused(50, "not yet")
    with pytest.raises(PluginFailed, match="not yet"):
        pod_network.status()


def test_gc_keeps_the_interfaces_of_running_pods(runtime: Make, plugins: Plugins, pod: Pod) -> None:
    """RT-029, RT-039: containerd has none."""
    pod_network = pods(runtime(), "one", "two")
    pod_network.setup(pod)
    pod_network.setup(attrs.evolve(pod, id="c2"))
    del plugins.asked[:]
    assert pod_network.collect([pod]) == []
    assert plugins.order == ["one DEL", "one GC", "two DEL", "two GC"]
    wanted = [{"containerID": "c1", "ifname": "eth1"}]
    assert plugins.asked[3].document["cni.dev/valid-attachments"] == wanted
    assert pods(runtime("go-cni"), "one").collect([]) == ["go-cni never calls GC"]


def test_a_lost_namespace_is_not_named_on_teardown(
    runtime: Make, plugins: Plugins, pod: Pod
) -> None:
    """RT-027: for any profile."""
    pod_network = pods(runtime("go-cni"), "one")
    pod_network.teardown(attrs.evolve(pod, netns="/run/netns/none-such"))
    assert plugins.last("one DEL").env["CNI_NETNS"] == ""


def test_crio_attaches_to_the_default_network_unless_asked(
    runtime: Make, plugins: Plugins, pod: Pod
) -> None:
    """All networks of the folder are known, the first is the default."""
    pod_network = pods(runtime("ocicni"), "one", "two")
    pod_network.setup(pod)
    assert plugins.order == ["one ADD"]
    with pytest.raises(ValueError, match="there are n-one, n-two"):
        pod_network.setup(attrs.evolve(pod, networks=["other"]))


def test_a_failed_clean_up_of_the_strict_pod_can_be_repeated(
    runtime: Make, plugins: Plugins, pod: Pod
) -> None:
    """The note says so, and the kept files are there for it."""
    plugins.answers |= {"two ADD": refused(), "one DEL": [refused(7, "busy"), None]}
    pod_network = pods(runtime(), "one", "two")
    with pytest.raises(PluginFailed) as caught:
        pod_network.setup(pod)
    assert "it has to be repeated" in caught.value.__notes__[0]
    pod_network.teardown(pod)
    assert pod_network.runtime.kept == []


def test_a_reason_not_to_ask_is_told(runtime: Make, plugins: Plugins, pod: Pod) -> None:
    """By network."""
    old = network("one", name="old", cniVersion="1.0.0", disableCheck=True)
    pod_network = PodNetwork(runtime(), [old], loopback=lambda _path: None)
    plugins.answers["one ADD"] = {}
    pod_network.setup(pod)
    assert pod_network.check(pod) == ["old: disableCheck is true"]
    assert pod_network.status() == ["old: version 1.0.0 is before 1.1.0"]
    assert pod_network.collect([pod]) == ["old: version 1.0.0 is before 1.1.0"]


def test_crio_detaches_from_a_network_that_is_gone_from_the_folder(
    runtime: Make, plugins: Plugins, pod: Pod
) -> None:
    """RT-033: the kept file has all that is needed."""
    pods(runtime("ocicni"), "two").setup(pod)
    pods(runtime("ocicni"), "one").teardown(pod)
    assert plugins.order == ["two ADD", "two DEL"]
