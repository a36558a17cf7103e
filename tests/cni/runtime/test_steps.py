"""What a list of plugins is told, and what is known of an attachment when it goes."""

import json
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from refimpl.cni import config
from refimpl.cni.config import ConfigError
from refimpl.cni.contract import CniError
from refimpl.cni.runtime import (
    PROFILES,
    Attachment,
    BadAnswer,
    CacheError,
    NotAttached,
    PluginFailed,
    Runtime,
)
from tests.cni.runtime.conftest import RESULT, Plugins, network, printed, refused

Make = Callable[..., Runtime]


def test_a_list_without_plugins_cannot_be_added(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """Those of the sub-directory may be missing."""
    empty = config.parse(b'{"cniVersion": "1.1.0", "name": "net"}')
    with pytest.raises(ConfigError, match='network "net" has no plugins'):
        runtime().add(empty, attachment)
    assert plugins.order == []


def test_a_kept_configuration_that_cannot_be_read_gives_way_to_the_present_one(
    runtime: Make, plugins: Plugins, attachment: Attachment, tmp_path: Path
) -> None:
    """DEL is better made with today's than not at all."""
    ours = runtime()
    ours.add(network("one"), attachment)
    place = tmp_path / "cache" / "results" / "net-c1-eth0"
    place.write_text(json.dumps({**json.loads(place.read_text()), "config": "e30="}))
    ours.delete(network("two"), attachment)
    assert plugins.order == ["one ADD", "two DEL"]
    assert plugins.asked[1].document["prevResult"] == RESULT


def test_a_kept_result_of_another_version_is_converted(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """The configuration was changed in between; libcni converts, too."""
    plugins.answers["one ADD"] = {"cniVersion": "0.4.0", "dns": {"domain": "x"}}
    ours = runtime("libcni")
    ours.add(network("one", cniVersion="0.4.0"), attachment)
    ours.delete(network("one"), attachment)
    wanted = {"cniVersion": "1.1.0", "dns": {"domain": "x"}}
    assert plugins.last("one DEL").document["prevResult"] == wanted


def test_check_says_when_a_kept_result_fits_no_version(
    runtime: Make, attachment: Attachment, tmp_path: Path
) -> None:
    """It cannot have been written by a runtime of today."""
    ours = runtime()
    ours.add(network("one"), attachment)
    place = tmp_path / "cache" / "results" / "net-c1-eth0"
    value = {**json.loads(place.read_text()), "result": {"cniVersion": "9.0.0"}}
    place.write_text(json.dumps(value))
    with pytest.raises(CacheError, match=r"kept result of net c1/eth0: .*9\.0\.0"):
        ours.check(network("one"), attachment)


def test_add_goes_forward_and_hands_on_what_came_before(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-012: the first plugin has no prevResult, each other one the whole of the one before."""
    own = {**RESULT, "x-vendor": {"deep": [1]}}
    plugins.answers["one ADD"] = own
    result = runtime().add(network("one", "two", "three"), attachment)
    assert plugins.order == ["one ADD", "two ADD", "three ADD"]
    assert "prevResult" not in plugins.asked[0].document
    assert plugins.asked[1].document["prevResult"] == own
    assert plugins.asked[2].document["prevResult"] == RESULT
    assert result.ips[0].address == "10.1.0.2/24"


def test_delete_goes_backward_with_the_final_result_for_all(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-021."""
    final = {**RESULT, "routes": [{"dst": "0.0.0.0/0"}]}
    plugins.answers["two ADD"] = final
    ours = runtime()
    ours.add(network("one", "two"), attachment)
    ours.delete(network("one", "two"), attachment)
    assert plugins.order[2:] == ["two DEL", "one DEL"]
    assert [each.document["prevResult"] for each in plugins.asked[2:]] == [final, final]
    assert ours.kept == []


def test_delete_before_0_4_0_has_no_result(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """prevResult on DEL came with 0.4.0."""
    old = network("one", cniVersion="0.3.1")
    plugins.answers["one ADD"] = {"cniVersion": "0.3.1"}
    ours = runtime()
    ours.add(old, attachment)
    ours.delete(old, attachment)
    assert "prevResult" not in plugins.last("one DEL").document


def test_delete_repeats_the_parameters_of_add(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-024, RT-033: id, interface, CNI_ARGS, runtimeConfig and configuration are those of ADD."""
    before = network({"type": "one", "range": "10.1.0.0/24", "capabilities": {"mac": True}}, "two")
    about = attrs.evolve(attachment, args=[("A", "1")], capability_args={"mac": "x", "ips": []})
    ours = runtime()
    ours.add(before, about)
    ours.delete(network({"type": "one", "range": "10.2.0.0/24"}), attachment)
    added, deleted = plugins.asked[0], plugins.last("one DEL")
    assert plugins.order[2:] == ["two DEL", "one DEL"]
    assert {**deleted.env, "CNI_COMMAND": "ADD"} == added.env
    assert {**deleted.document, "prevResult": None} == {**added.document, "prevResult": None}


def test_libcni_deletes_with_what_it_is_given(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-033: there the configuration and parameters of today count."""
    ours = runtime("libcni")
    ours.add(network("one", "two"), attrs.evolve(attachment, args=[("A", "1")]))
    ours.delete(network("three"), attachment)
    assert plugins.order[2:] == ["three DEL"]
    assert plugins.asked[2].env["CNI_ARGS"] == ""


def test_crio_deletes_with_what_was_kept(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-033."""
    ours = runtime("ocicni")
    ours.add(network("one", "two"), attrs.evolve(attachment, args=[("A", "1")]))
    ours.delete(network("three"), attachment)
    assert plugins.order[2:] == ["two DEL", "one DEL"]
    assert plugins.asked[2].env["CNI_ARGS"] == "A=1"


def test_delete_without_add_and_delete_again_ask_the_plugins(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-026: DEL may come any number of times, and no ADD after it."""
    ours = runtime()
    ours.delete(network("one"), attachment)
    ours.delete(network("one"), attachment)
    assert plugins.order == ["one DEL", "one DEL"]


def test_delete_of_a_lost_namespace_names_none(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-027: the plugins free what they hold all the same."""
    ours = runtime()
    ours.add(network("one"), attachment)
    Path(attachment.netns).unlink()
    ours.delete(network("one"), attachment)
    assert "CNI_NETNS" not in plugins.last("one DEL").env


@pytest.mark.parametrize("content", [b"", b'{"kind": "cniCa', b"[]", b'{"kind": "cniCacheV1"}'])
def test_delete_goes_on_without_what_cannot_be_read(
    runtime: Make, plugins: Plugins, attachment: Attachment, tmp_path: Path, content: bytes
) -> None:
    """RT-030: a file cut off by a crash must not keep a pod from going."""
    ours = runtime()
    ours.add(network("one"), attachment)
    kept = tmp_path / "cache" / "results" / "net-c1-eth0"
    kept.write_bytes(content)
    ours.delete(network("one"), attachment)
    assert "prevResult" not in plugins.last("one DEL").document
    assert not kept.exists() or content == b'{"kind": "cniCacheV1"}'


def test_check_refuses_what_cannot_be_read(
    runtime: Make, attachment: Attachment, tmp_path: Path
) -> None:
    """CHECK without the true result would say nothing."""
    ours = runtime()
    ours.add(network("one"), attachment)
    (tmp_path / "cache" / "results" / "net-c1-eth0").write_bytes(b"")
    with pytest.raises(CacheError, match="empty"):
        ours.check(network("one"), attachment)


def test_similar_names_do_not_share_a_result(
    runtime: Make, plugins: Plugins, tmp_path: Path
) -> None:
    """RT-032: "a-b" + "c" and "a" + "b-c" have one file name in libcni."""
    netns = tmp_path / "ns"
    netns.touch()
    first = (network("one", name="a-b"), Attachment("c", str(netns)))
    second = (network("two", name="a"), Attachment("b-c", str(netns)))
    other = {**RESULT, "ips": [{"address": "10.1.0.3/24"}]}
    plugins.answers["two ADD"] = other
    ours = runtime()
    ours.add(*first)
    ours.add(*second)
    ours.delete(*first)
    assert plugins.last("one DEL").document["prevResult"] == RESULT
    ours.delete(*second)
    assert plugins.last("two DEL").document["prevResult"] == other
    assert ours.kept == []


def test_check_sends_the_final_result_and_the_parameters_of_add(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-035."""
    about = attrs.evolve(attachment, args=[("A", "1")])
    ours = runtime()
    ours.add(network("one", "two"), about)
    assert ours.check(network("one", "two"), attachment) == ""
    assert plugins.order[2:] == ["one CHECK", "two CHECK"]
    assert plugins.asked[2].document["prevResult"] == RESULT
    assert {**plugins.asked[2].env, "CNI_COMMAND": "ADD"} == plugins.asked[0].env


def test_check_halts_at_the_first_error(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """The specification lets a runtime stop there."""
    ours = runtime()
    ours.add(network("one", "two"), attachment)
    plugins.answers["one CHECK"] = refused(7, "gone")
    with pytest.raises(CniError, match="gone"):
        ours.check(network("one", "two"), attachment)
    assert plugins.order[2:] == ["one CHECK"]


def test_check_of_what_is_not_attached_is_refused(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """CHECK must be given a result; libcni goes without one."""
    with pytest.raises(NotAttached, match="add it first"):
        runtime().check(network("one"), attachment)
    assert plugins.order == []
    runtime("libcni").check(network("one"), attachment)
    assert "prevResult" not in plugins.last("one CHECK").document


def test_the_highest_common_version_is_sent(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-042, RT-043: versions of the future are left out; alone they are refused."""
    net = network("one", cniVersion="0.4.0", cniVersions=["0.4.0", "1.1.0", "9.0.0"])
    for profile in ("strict", "libcni"):
        runtime(profile).add(net, attachment)
        runtime(profile).delete(net, attachment)
        assert plugins.last("one ADD").document["cniVersion"] == "1.1.0"
    del plugins.asked[:]
    future = network("one", cniVersion="9.0.0")
    with pytest.raises(ConfigError, match=r"9\.0\.0"):
        runtime().add(future, attachment)
    assert plugins.order == []
    plugins.answers["one ADD"] = {}
    with pytest.raises(BadAnswer, match=r"no result type for version '9\.0\.0'"):
        runtime("libcni").add(future, attachment)


def test_a_network_without_version_is_of_0_1_0(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-058: and what was added can be deleted."""
    net = config.parse(b'{"name": "old", "type": "one"}')
    plugins.answers["one ADD"] = {"ip4": {"ip": "10.1.0.2/24"}}
    for profile, version in (("strict", "0.1.0"), ("libcni", "")):
        ours = runtime(profile)
        result = ours.add(net, attachment)
        assert (result.cni_version, result.ips[0].address) == ("0.1.0", "10.1.0.2/24")
        ours.delete(net, attachment)
        assert plugins.last("one DEL").document["cniVersion"] == version
        assert ours.kept == []


def test_a_result_of_another_version_is_converted(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-014: the next plugin gets the network's; libcni passes on what came."""
    plugins.answers["one ADD"] = {
        "cniVersion": "0.4.0",
        "ips": [{"version": "4", "address": "10.1.0.2/24"}],
    }
    runtime().add(network("one", "two"), attachment)
    wanted = {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24"}]}
    assert plugins.last("two ADD").document["prevResult"] == wanted
    runtime("libcni").add(network("one", "two"), attrs.evolve(attachment, ifname="eth1"))
    assert plugins.last("two ADD").document["prevResult"]["cniVersion"] == "0.4.0"


def test_the_kept_file_is_that_of_libcni(
    runtime: Make, attachment: Attachment, tmp_path: Path
) -> None:
    """RT-031: name, modes, members."""
    net = network("one")
    for profile in PROFILES:
        ours = runtime(profile)
        ours.add(net, attrs.evolve(attachment, args=[("A", "1")]))
        place = tmp_path / "cache" / "results" / "net-c1-eth0"
        assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        content = json.loads(place.read_bytes())
        assert content["kind"] == "cniCacheV1"
        assert (content["networkName"], content["containerId"], content["ifName"]) == (
            "net",
            "c1",
            "eth0",
        )
        assert (content["cniArgs"], content["netns"]) == ([["A", "1"]], attachment.netns)
        assert content["result"] == RESULT
        ours.delete(net, attachment)
        assert [each.name for each in place.parent.iterdir()] == []


def test_a_plugin_may_print_what_it_likes_on_success_of_delete(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """No output is asked for; an error object is an error, though."""
    plugins.answers["one DEL"] = [printed(b"noise"), printed({"code": 7, "msg": "no"})]
    runtime().delete(network("one"), attachment)
    with pytest.raises(PluginFailed):
        runtime().delete(network("one"), attachment)
