"""What a plugin is sent: its own members unchanged, the runtime's set or removed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from refimpl.cni import config
from refimpl.cni.contract import Verb
from refimpl.documents import json as documents


def network(plugin: dict[str, Any], **members: Any) -> config.NetworkList:
    """A list of one plugin."""
    document = {"name": "net", "cniVersion": "1.1.0", **members, "plugins": [plugin]}
    return config.parse(documents.dump(document))


def sent(plugin: dict[str, Any], verb: str, **more: Any) -> dict[str, Any]:
    """The request of that plugin's only call."""
    listed = network(plugin)
    return config.request(listed, listed.plugins[0], verb, **more)


def test_name_and_version_of_the_list_replace_the_plugins_own() -> None:
    """A plugin must see the network it is part of."""
    document = sent({"type": "t", "name": "other", "cniVersion": "0.1.0"}, Verb.ADD)
    assert document == {"type": "t", "name": "net", "cniVersion": "1.1.0"}


def test_other_members_keep_their_exact_value() -> None:
    """Numbers beyond float64, text beyond ASCII, empty and null members: all as written."""
    own = {
        "big": 9007199254740993,
        "one": Decimal("1.0"),
        "huge": Decimal("1E+400"),
        "text": "<é&\U0001f600>",
        "nothing": None,
        "empty": {},
        "list": [],
        "args": {"cni": {"ips": ["10.0.0.2"]}},
    }
    document = sent({"type": "t", **own}, Verb.ADD)
    assert {key: document[key] for key in own} == own
    assert documents.parse(documents.dump(document)).value == document
    assert str(document["one"]) == "1.0"


def test_members_that_are_the_runtimes_are_not_forwarded() -> None:
    """A configuration must not be able to forge what only the runtime knows."""
    forged = {
        "runtimeConfig": {"mac": "00:11:22:33:44:55"},
        "prevResult": {"ips": []},
        "capabilities": {"mac": True},
        "cni.dev/foo": 1,
        "cni.dev/valid-attachments": [],
    }
    for verb in (Verb.ADD, Verb.DEL, Verb.CHECK, Verb.GC, Verb.STATUS):
        assert set(sent({"type": "t", **forged}, verb)) == {"type", "name", "cniVersion"}


def test_list_members_are_not_sent() -> None:
    """They are instructions to the runtime."""
    listed = network({"type": "t"}, disableCheck=True, disableGC=True, cniVersions=["1.1.0"], x=1)
    document = config.request(listed, listed.plugins[0], Verb.ADD)
    assert set(document) == {"type", "name", "cniVersion"}


@pytest.mark.parametrize("verb", [Verb.ADD, Verb.DEL, Verb.CHECK])
def test_runtime_config_is_what_was_declared_and_is_at_hand(verb: str) -> None:
    """Declared true and present, nothing else."""
    plugin = {"type": "t", "capabilities": {"mac": True, "ips": False, "dns": True}}
    has = {"mac": "00:11:22:33:44:55", "ips": ["10.0.0.2"], "bandwidth": {}}
    document = sent(plugin, verb, runtime_config=has)
    assert document["runtimeConfig"] == {"mac": "00:11:22:33:44:55"}


def test_an_empty_runtime_config_is_left_out() -> None:
    """Absent and empty mean the same, and the libraries leave it out."""
    plugin = {"type": "t", "capabilities": {"mac": True}}
    assert "runtimeConfig" not in sent(plugin, Verb.ADD, runtime_config={"ips": []})


@pytest.mark.parametrize("verb", [Verb.GC, Verb.STATUS])
def test_verbs_without_an_attachment_get_no_attachment(verb: str) -> None:
    """They are about the network as a whole."""
    plugin = {"type": "t", "capabilities": {"mac": True}}
    document = sent(plugin, verb, runtime_config={"mac": "x"}, prev_result={"ips": []})
    assert set(document) == {"type", "name", "cniVersion"}


def test_prev_result_is_absent_on_the_first_add_and_present_when_given() -> None:
    """The first plugin of a list has nothing before it."""
    result = {"cniVersion": "1.1.0", "ips": [], "unknown": {"kept": 1}}
    assert "prevResult" not in sent({"type": "t"}, Verb.ADD)
    for verb in (Verb.ADD, Verb.DEL, Verb.CHECK):
        assert sent({"type": "t"}, verb, prev_result=result)["prevResult"] == result


def test_del_has_no_prev_result_before_0_4_0() -> None:
    """The member came to DEL with that version."""
    listed = network({"type": "t"}, cniVersion="0.3.1")
    plugin, result = listed.plugins[0], {"cniVersion": "0.3.1"}
    assert "prevResult" not in config.request(listed, plugin, Verb.DEL, prev_result=result)
    assert "prevResult" in config.request(listed, plugin, Verb.ADD, prev_result=result)


def test_gc_gets_the_valid_attachments_and_an_empty_list_is_a_list() -> None:
    """Empty means that nothing is in use, absent that the caller does not know."""
    pairs = [{"containerID": "c1", "ifname": "eth0"}]
    key = "cni.dev/valid-attachments"
    assert sent({"type": "t"}, Verb.GC, attachments=pairs)[key] == pairs
    assert sent({"type": "t"}, Verb.GC, attachments=[])[key] == []
    assert key not in sent({"type": "t"}, Verb.GC)
    assert key not in sent({"type": "t"}, Verb.STATUS, attachments=pairs)


def test_version_is_asked_with_a_version_only() -> None:
    """The plugin need not understand the configuration to tell what it supports."""
    assert sent({"type": "t", "x": 1}, Verb.VERSION) == {"cniVersion": "1.1.0"}


def test_the_configuration_is_left_as_it_was() -> None:
    """A list is used again for the next container."""
    listed = network({"type": "t", "capabilities": {"mac": True}, "prevResult": {}})
    before = config.dump(listed)
    config.request(listed, listed.plugins[0], Verb.ADD, runtime_config={"mac": "x"})
    assert config.dump(listed) == before


@pytest.mark.parametrize(
    ("version", "versions", "chosen"),
    [
        ("0.4.0", [], "0.4.0"),
        ("0.4.0", ["0.4.0", "1.1.0", "9.0.0"], "1.1.0"),
        ("1.0.0", ["0.3.1"], "1.0.0"),
        (None, ["0.3.1", "1.0.0"], "1.0.0"),
        (None, [], "0.1.0"),
        ("9.0.0", ["0.4.0"], "0.4.0"),
    ],
)
def test_the_highest_common_version_is_chosen(
    version: str | None, versions: list[str], chosen: str
) -> None:
    """cniVersion and cniVersions are one set."""
    document: dict[str, Any] = {"name": "net", "plugins": [{"type": "t"}]}
    document.update({"cniVersion": version} if version else {})
    document.update({"cniVersions": versions} if versions else {})
    listed = config.parse(documents.dump(document))
    assert config.negotiated(listed) == chosen
    assert config.request(listed, listed.plugins[0], Verb.ADD)["cniVersion"] == chosen


def test_a_runtime_may_support_less() -> None:
    """The choice is between the document and whoever runs it."""
    listed = network({"type": "t"}, cniVersions=["0.3.1", "0.4.0", "1.0.0"])
    assert config.negotiated(listed, ["0.3.1", "0.4.0"]) == "0.4.0"


@pytest.mark.parametrize("versions", [{"cniVersion": "9.0.0"}, {"cniVersions": ["9.0.0"]}])
def test_no_common_version_is_an_error_that_names_both_sides(versions: dict[str, Any]) -> None:
    """Forwarding it would leave the failure to the plugin."""
    document = {"name": "net", "plugins": [{"type": "t"}], **versions}
    listed = config.parse(documents.dump(document))
    with pytest.raises(config.ConfigError, match=r"9\.0\.0.*supported are 0\.1\.0"):
        config.negotiated(listed)


def test_a_version_may_be_given() -> None:
    """For requests that no runtime of ours would send."""
    assert sent({"type": "t"}, Verb.ADD, version="9.9.9")["cniVersion"] == "9.9.9"


def test_a_version_that_is_none_leaves_prev_result_in() -> None:
    """A plugin has to refuse it; what else is in the request must not change."""
    document = sent({"type": "t"}, Verb.DEL, version="1.0", prev_result={"ips": []})
    assert document["prevResult"] == {"ips": []}
