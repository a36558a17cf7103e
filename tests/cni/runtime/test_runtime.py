"""The strict runtime does what the specification says; others do what they do (rows CNI-RT)."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from refimpl.cni.execute import Exec, Outcome
from refimpl.cni.runtime import (
    PROFILES,
    Attachment,
    BadAnswer,
    PluginFailed,
    PluginMissing,
    PluginUnusable,
    Refusal,
    Runtime,
)
from tests.cni.runtime.conftest import RESULT, Asked, Plugins, network, refused

Make = Callable[..., Runtime]


def test_a_failed_add_is_followed_by_delete_of_the_whole_list(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-022: in reverse, the plugins that never ran included, without a result."""
    plugins.answers["two ADD"] = refused()
    ours = runtime()
    with pytest.raises(PluginFailed) as caught:
        ours.add(network("one", "two", "three"), attachment)
    assert (caught.value.plugin, caught.value.verb, caught.value.code) == ("two", "ADD", 7)
    assert plugins.order == ["one ADD", "two ADD", "three DEL", "two DEL", "one DEL"]
    assert all("prevResult" not in each.document for each in plugins.asked[2:])
    assert ours.kept == []


def test_cnitool_leaves_a_failed_add_as_it_is(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """libcni leaves the clean-up to who calls it, and cnitool does none."""
    plugins.answers["two ADD"] = refused()
    with pytest.raises(PluginFailed):
        runtime("libcni").add(network("one", "two"), attachment)
    assert plugins.order == ["one ADD", "two ADD"]


@pytest.mark.parametrize("position", ["front", "end"])
def test_a_missing_plugin_does_not_keep_the_others_from_delete(
    runtime: Make, plugins: Plugins, attachment: Attachment, position: str
) -> None:
    """RT-002: DEL halts at the first error, but a program that is not there has nothing to undo."""
    listed = ("missing", "one") if position == "front" else ("one", "missing")
    with pytest.raises(PluginMissing, match="missing ADD: no regular file"):
        runtime().add(network(*listed), attachment)
    assert plugins.order[-1] == "one DEL"


def test_a_program_that_cannot_run_is_named(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-002: not executable, or of another machine."""
    plugins.answers["one ADD"] = plugins.answers["one DEL"] = OSError(8, "Exec format error")
    with pytest.raises(PluginUnusable, match="one ADD: it cannot be started: Exec format error"):
        runtime().add(network("one"), attachment)


def test_a_failed_delete_halts_and_can_be_repeated(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-023: plugins below are not called now; what is kept stays until all succeeded."""
    ours, net = runtime(), network("one", "two")
    ours.add(net, attachment)
    plugins.answers["two DEL"] = [refused(), None]
    with pytest.raises(PluginFailed):
        ours.delete(net, attachment)
    assert plugins.order[2:] == ["two DEL"]
    ours.delete(net, attachment)
    assert plugins.order[3:] == ["two DEL", "one DEL"]
    assert plugins.last("one DEL").document["prevResult"] == RESULT
    assert ours.kept == []


def test_a_failed_clean_up_can_be_repeated_by_another_process(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-023: what containerd forgets after a failed ADD is kept, parameters and all."""
    about = attrs.evolve(attachment, args=[("A", "1")], capability_args={"mac": "x"})
    capable = {"type": "one", "capabilities": {"mac": True}}
    plugins.answers |= {"two ADD": refused(), "one DEL": [refused(), None]}
    with pytest.raises(PluginFailed) as caught:
        runtime().add(network(capable, "two"), about)
    assert "has to be repeated" in caught.value.__notes__[0]
    runtime().delete(network("three"), attachment)
    last = plugins.last("one DEL")
    assert (last.env["CNI_ARGS"], last.document["runtimeConfig"]) == ("A=1", {"mac": "x"})
    assert runtime().kept == []


def test_a_runtime_that_died_during_add_leaves_a_trace(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-028: the next one finds it and takes it back, without a result."""

    def dies(_asked: Asked) -> None:
        raise SystemExit

    plugins.answers["one ADD"] = dies
    with pytest.raises(SystemExit):
        runtime().add(network("one"), attachment)
    runtime().gc(network("one"), [])
    assert plugins.order[1:] == ["one DEL", "one GC"]
    assert "prevResult" not in plugins.asked[1].document
    assert runtime().kept == []


def test_add_twice_is_refused_before_any_plugin_runs(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """CNI 1.1: not twice for one container and interface without DEL between."""
    ours = runtime()
    ours.add(network("one"), attachment)
    with pytest.raises(Refusal, match="net has c1/eth0 already; delete it first"):
        ours.add(network("one"), attachment)
    assert plugins.order == ["one ADD"]


@pytest.mark.parametrize("netns", ["", "/run/netns/none-such", "/proc/thread-self/ns/net"])
def test_add_wants_a_namespace_that_is_there_and_not_our_own(
    runtime: Make, plugins: Plugins, netns: str
) -> None:
    """RT-006: the runtime makes it before, and never its own."""
    with pytest.raises(Refusal, match="namespace"):
        runtime().add(network("one"), Attachment("c1", netns))
    assert plugins.order == []


@pytest.mark.parametrize(
    "wrong",
    [{"container_id": "a/b"}, {"container_id": ""}, {"ifname": "a b"}, {"ifname": "x" * 16}],
)
def test_names_are_checked_before_anything_is_done(
    runtime: Make, plugins: Plugins, attachment: Attachment, wrong: dict[str, str]
) -> None:
    """RT-005: they end in file names and in the environment."""
    about = attrs.evolve(attachment, **wrong)
    for act in (runtime().add, runtime().delete, runtime().check):
        with pytest.raises(ValueError, match=r"name|id"):
            act(network("one"), about)
    assert plugins.order == []


@pytest.mark.parametrize(
    ("members", "reason"),
    [({"cniVersion": "0.3.1"}, "before 0.4.0"), ({"disableCheck": True}, "disableCheck")],
)
def test_check_is_not_called_where_it_must_not(
    runtime: Make, plugins: Plugins, attachment: Attachment, members: dict[str, Any], reason: str
) -> None:
    """RT-034."""
    plugins.answers["one ADD"] = {}
    ours = runtime()
    ours.add(network("one", **members), attachment)
    assert reason in ours.check(network("one", **members), attachment)
    assert plugins.order == ["one ADD"]


def test_libcni_makes_an_error_of_check_before_0_4_0(runtime: Make, attachment: Attachment) -> None:
    """RT-034: where strict says why not, libcni fails."""
    with pytest.raises(Refusal, match=r"version 0.3.1 is before 0.4.0"):
        runtime("libcni").check(network("one", cniVersion="0.3.1"), attachment)


def test_status_asks_in_order_and_only_from_1_1_0_on(runtime: Make, plugins: Plugins) -> None:
    """RT-036, RT-037: no variables of an attachment, the first error is the answer."""
    ours = runtime()
    assert "before 1.1.0" in ours.status(network("one", cniVersion="1.0.0"))
    assert plugins.order == []
    plugins.answers["two STATUS"] = refused(50, "not yet")
    with pytest.raises(PluginFailed, match="not yet") as caught:
        ours.status(network("one", "two", "three"))
    assert caught.value.code == 50
    assert plugins.order == ["one STATUS", "two STATUS"]
    assert set(plugins.asked[0].env) == {"PATH", "CNI_COMMAND", "CNI_PATH"}


def test_every_exec_has_an_end(runtime: Make, plugins: Plugins, attachment: Attachment) -> None:
    """RT-038, RT-052: a hanging plugin ends its own call, no other."""
    plugins.answers["one ADD"] = Outcome(-9, timed_out=True)
    with pytest.raises(BadAnswer, match="no end within its deadline"):
        runtime().add(network("one"), attachment)
    runtime().status(network("one"))
    policy = PROFILES["strict"].policy
    assert plugins.deadlines == [policy.deadlines[verb] for verb in ("ADD", "DEL", "STATUS")]


def test_gc_deletes_stale_attachments_and_then_asks_the_plugins(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-029, RT-039: each with the parameters it was added with, then the list of valid ones."""
    ours, net = runtime(), network("one", "two")
    ours.add(net, attachment)
    ours.add(net, attrs.evolve(attachment, container_id="c2", args=[("A", "1")]))
    ours.add(network("three", name="other"), attachment)
    del plugins.asked[:]
    assert ours.gc(network("one"), [("c1", "eth0")]) == ""
    assert plugins.order == ["two DEL", "one DEL", "one GC"]
    assert plugins.asked[0].env["CNI_CONTAINERID"] == "c2"
    assert plugins.asked[0].env["CNI_ARGS"] == "A=1"
    wanted = [{"containerID": "c1", "ifname": "eth0"}]
    assert plugins.asked[2].document["cni.dev/valid-attachments"] == wanted
    assert sorted(each.network for each in ours.kept) == ["net", "other"]


def test_gc_goes_on_after_errors_and_tells_all(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-040."""
    ours, net = runtime(), network("one", "two")
    ours.add(net, attachment)
    plugins.answers |= {"one DEL": refused(7, "a"), "one GC": refused(7, "b")}
    with pytest.raises(ExceptionGroup) as caught:
        ours.gc(net, [])
    assert plugins.order[2:] == ["two DEL", "one DEL", "one GC", "two GC"]
    assert [each.msg for each in caught.value.exceptions] == ["a", "b"]  # type: ignore[attr-defined]
    assert len(ours.kept) == 1


def test_gc_is_not_called_where_it_must_not(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-041; and before 1.1.0 only the DEL of what is stale."""
    ours = runtime()
    plugins.answers["one ADD"] = {}
    ours.add(network("one", cniVersion="1.0.0"), attachment)
    assert "disableGC" in ours.gc(network("one", disableGC=True), [])
    assert plugins.order == ["one ADD"]
    assert "before 1.1.0" in ours.gc(network("one", cniVersion="1.0.0"), [])
    assert plugins.order == ["one ADD", "one DEL"]


def test_strict_gc_wants_the_list(runtime: Make, plugins: Plugins) -> None:
    """Absent and empty are not told apart by the specification, so absent is not sent."""
    with pytest.raises(ValueError, match="give the valid attachments"):
        runtime().gc(network("one"))
    runtime("libcni").gc(network("one"))
    assert not [key for key in plugins.last("one GC").document if key.startswith("cni.dev/")]


def test_an_empty_list_is_null_for_crio(runtime: Make, plugins: Plugins) -> None:
    """A Go slice that nothing was appended to; both names of the member are sent."""
    runtime("ocicni").gc(network("one"), [])
    sent = plugins.last("one GC").document
    assert sent["cni.dev/valid-attachments"] is None
    assert sent["cni.dev/attachments"] is None


def test_calls_for_one_container_never_overlap(
    runtime: Make, plugins: Plugins, tmp_path: Path
) -> None:
    """RT-050, RT-051: threads of two runtimes, four containers with two interfaces each."""
    netns = tmp_path / "ns"
    netns.touch()
    inside: dict[str, int] = {}
    clashes, guard = [], threading.Lock()
    meeting = threading.Barrier(2, timeout=10)

    def work(call: Asked) -> dict[str, Any]:
        container = call.env["CNI_CONTAINERID"]
        with guard:
            inside[container] = inside.get(container, 0) + 1
            clashes.extend([container] if inside[container] > 1 else [])
        meeting.wait()  # two containers at once: across containers nothing is held up
        with guard:
            inside[container] -= 1
        return RESULT

    plugins.answers["one ADD"] = work
    threads = [
        threading.Thread(
            target=runtime().add, args=(network("one"), Attachment(container, str(netns), ifname))
        )
        for ifname in ("eth0", "eth1")
        for container in ("c1", "c2")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (clashes, len(plugins.order)) == ([], 4)


def test_gc_waits_for_what_is_going_on(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-039: no ADD is in flight while GC runs."""
    inside, go_on = threading.Event(), threading.Event()

    def work(_asked: Asked) -> dict[str, Any]:
        inside.set()
        assert go_on.wait(10)
        return RESULT

    plugins.answers["one ADD"] = work
    adding = threading.Thread(target=runtime().add, args=(network("one"), attachment))
    adding.start()
    assert inside.wait(10)
    collecting = threading.Thread(target=runtime().gc, args=(network("one"), [attachment.pair]))
    collecting.start()
    assert plugins.order == ["one ADD"]
    go_on.set()
    adding.join()
    collecting.join()
    assert plugins.order == ["one ADD", "one GC"]


def test_observers_see_every_exec(runtime: Make, attachment: Attachment) -> None:
    """They print, and look for tests; the log keeps the same."""
    seen: list[Exec] = []
    ours = runtime(observers=[seen.append])
    ours.add(network("one", "two"), attachment)
    assert [each.rpc for each in seen] == ["one ADD", "two ADD"]
    assert ours.log.since(0) == seen


def test_a_result_that_cannot_be_kept_is_taken_back(
    runtime: Make, plugins: Plugins, attachment: Attachment, tmp_path: Path
) -> None:
    """A full disk after the last plugin; libcni leaves the attachment behind."""
    results = tmp_path / "cache" / "results"

    def spoil(_asked: Asked) -> dict[str, Any]:
        shutil.rmtree(results)
        results.touch()
        return RESULT

    plugins.answers["one ADD"] = spoil
    with pytest.raises(OSError, match="results"):
        runtime().add(network("one"), attachment)
    assert plugins.order == ["one ADD", "one DEL"]


def test_gc_without_a_readable_cache_is_an_error_or_nothing(
    runtime: Make, plugins: Plugins, tmp_path: Path
) -> None:
    """libcni skips all of it in silence."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "results").touch()
    with pytest.raises(OSError, match="results"):
        runtime().gc(network("one"), [])
    assert "cannot be listed" in runtime("libcni").gc(network("one"))
    assert plugins.order == []
