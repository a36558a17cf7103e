"""Reading a network configuration: what is in it, and every defect with its place."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.cni import config
from refimpl.documents import json as documents

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,20}", fullmatch=True)
VERSIONS = st.sampled_from(["0.1.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0", "2.0.0"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([Decimal("1.0"), Decimal("1E+400"), Decimal("0.1")])
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
KNOWN = ("type", "capabilities", "ipam", "dns")


@st.composite
def plugins(draw: st.DrawFn) -> dict[str, Any]:
    """A sound plugin object with members of its own."""
    own = draw(st.dictionaries(st.text(st.characters(codec="utf-8")), VALUES, max_size=3))
    plugin: dict[str, Any] = {key: value for key, value in own.items() if key not in KNOWN}
    plugin["type"] = draw(NAMES)
    if draw(st.booleans()):
        plugin["capabilities"] = draw(st.dictionaries(NAMES, st.booleans(), max_size=2))
    if draw(st.booleans()):
        plugin["ipam"] = {"type": draw(NAMES)}
    return plugin


@st.composite
def networks(draw: st.DrawFn) -> dict[str, Any]:
    """A sound network list."""
    network: dict[str, Any] = {"name": draw(NAMES), "cniVersion": draw(VERSIONS)}
    if draw(st.booleans()):
        network["cniVersions"] = draw(st.lists(VERSIONS))
    for flag in ("disableCheck", "disableGC", "loadOnlyInlinedPlugins"):
        if draw(st.booleans()):
            network[flag] = draw(st.booleans())
    network["plugins"] = draw(st.lists(plugins(), min_size=1, max_size=3))
    return network


@given(network=networks())
def test_what_was_read_dumps_and_reads_back_the_same(network: dict[str, Any]) -> None:
    """A runtime caches the document of ADD and reads it again for DEL, perhaps months later."""
    first = config.parse(documents.dump(network))
    second = config.parse(config.dump(first))
    assert second == first
    assert second.raw == network


@given(plugin=plugins(), name=NAMES, version=VERSIONS)
def test_a_wrapped_plugin_reads_back_as_a_list(
    plugin: dict[str, Any], name: str, version: str
) -> None:
    """A single-plugin document lives on as a list of one."""
    single = config.parse(documents.dump({**plugin, "name": name, "cniVersion": version}))
    again = config.parse(single.bytes)
    assert (single.single, again.single) == (True, False)
    assert again == single
    assert config.parse(config.dump(single)) == single


def test_a_list_has_its_members_in_fields() -> None:
    """The fields are what a runtime decides by."""
    network = config.parse(
        b'{"name": "net", "cniVersion": "1.0.0", "cniVersions": ["1.0.0", "1.1.0"],'
        b'"disableCheck": true, "disableGC": true, "loadOnlyInlinedPlugins": true, "plugins": ['
        b'{"type": "bridge", "ipam": {"type": "host-local"}, "mtu": 9007199254740993},'
        b'{"type": "portmap", "capabilities": {"portMappings": true}}]}'
    )
    assert (network.name, network.cni_version) == ("net", "1.0.0")
    assert network.cni_versions == ("1.0.0", "1.1.0")
    assert (network.disable_check, network.disable_gc) == (True, True)
    assert network.load_only_inlined_plugins is True
    assert network.single is False
    assert [plugin.type for plugin in network.plugins] == ["bridge", "portmap"]
    assert network.plugins[0].ipam_type == "host-local"
    assert network.plugins[0].raw["mtu"] == 9007199254740993
    assert network.plugins[1].capabilities == {"portMappings": True}


def test_without_a_version_it_is_the_oldest() -> None:
    """The member came after 0.1.0; an empty one is a missing one."""
    for version in (b"", b'"cniVersion": "",'):
        network = config.parse(b"{" + version + b'"name": "n", "plugins": [{"type": "t"}]}')
        assert network.cni_version == "0.1.0"
        assert network.declared_versions == ("0.1.0",)


def test_a_single_plugin_is_wrapped() -> None:
    """Every runtime still takes these documents, and all of them wrap."""
    network = config.parse(b'{"name": "n", "cniVersion": "0.4.0", "type": "t", "x": 1}')
    assert network.single is True
    assert network.raw == {
        "name": "n",
        "cniVersion": "0.4.0",
        "plugins": [{"name": "n", "cniVersion": "0.4.0", "type": "t", "x": 1}],
    }
    assert [plugin.type for plugin in network.plugins] == ["t"]


def test_a_list_without_plugins_waits_for_its_folder() -> None:
    """Only whoever knows the folder can tell whether there are any."""
    assert config.parse(b'{"name": "n", "cniVersion": "1.1.0"}').plugins == ()


@pytest.mark.parametrize(
    ("data", "place", "row"),
    [
        (b"[]", "1:1", "CNI-CFG-001"),
        (b'{"plugins": [{"type": "t"}]}', "1:1", "CNI-CFG-002"),
        (b'{"name": 5, "plugins": [{"type": "t"}]}', "1:10", "CNI-CFG-002"),
        (b'{"name": "../x", "plugins": [{"type": "t"}]}', "1:10", "CNI-CFG-002"),
        (b'{"name": "n", "cniVersion": 1, "plugins": [{"type": "t"}]}', "1:29", "CNI-CFG-006"),
        (b'{"name": "n", "cniVersion": "v1.0.0", "type": "t"}', "1:29", "CNI-CFG-006"),
        (b'{"name": "n", "cniVersions": "1.0.0", "type": "t"}', "1:30", "CNI-CFG-007"),
        (b'{"name": "n", "cniVersions": ["1.0"], "type": "t"}', "1:31", "CNI-CFG-007"),
        (b'{"name": "n", "disableGC": "true", "plugins": [{"type": "t"}]}', "1:28", "CNI-CFG-009"),
        (b'{"name": "n", "plugins": []}', "1:26", "CNI-CFG-011"),
        (b'{"name": "n", "plugins": [\n 1]}', "2:2", "CNI-CFG-011"),
        (b'{"name": "n", "loadOnlyInlinedPlugins": true}', "1:41", "CNI-CFG-012"),
        (b'{"name": "n", "plugins": [{"type": "a/b"}]}', "1:36", "CNI-CFG-015"),
        (b'{"name": "n", "plugins": [{}]}', "1:27", "CNI-CFG-015"),
        (b'{"name": "n", "type": "t", "capabilities": []}', "1:44", "CNI-CFG-019"),
        (b'{"name": "n", "type": "t", "capabilities": {"mac": 1}}', "1:52", "CNI-CFG-019"),
        (b'{"name": "n", "type": "t", "ipam": "x"}', "1:36", "CNI-CFG-022"),
        (b'{"name": "n", "type": "t", "ipam": {"type": ""}}', "1:45", "CNI-CFG-022"),
        (b'{"name": "n", "type": "t", "dns": {"search": "x"}}', "1:46", "CNI-CFG-027"),
    ],
)
def test_a_defect_is_told_with_file_line_and_column(data: bytes, place: str, row: str) -> None:
    """The row says where the demand is explained."""
    with pytest.raises(config.ConfigError) as caught:
        config.parse(data, name="10-net.conflist")
    assert str(caught.value).startswith(f"10-net.conflist:{place}: ")
    assert row in str(caught.value)


def test_all_defects_are_told_at_once() -> None:
    """Correcting a file one error a run is no way to live."""
    with pytest.raises(config.ConfigError) as caught:
        config.parse(b'{"name": "-",\n "cniVersion": "1",\n "plugins": [{"type": ""}]}', name="f")
    assert [line.split()[0] for line in caught.value.lines] == ["f:1:10:", "f:2:16:", "f:3:23:"]
    assert str(caught.value) == "\n".join(caught.value.lines)


def test_a_broken_text_is_a_config_error_with_its_place() -> None:
    """One exception for whoever loads configurations."""
    with pytest.raises(config.ConfigError, match=r"^f:1:13: a comma before the closing bracket"):
        config.parse(b'{"name": "n",}', name="f")
