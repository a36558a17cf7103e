"""What plugins get: environment and stdin, by profile (rows CNI-RT-003 to 011, 042 to 044)."""

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from refimpl.cni import config
from refimpl.cni.config import ConfigError
from refimpl.cni.runtime import Attachment, Runtime
from tests.cni.runtime.conftest import Plugins, network

Make = Callable[..., Runtime]
ODD = b"""{"cniVersion": "1.1.0", "name": "net", "disableCheck": false, "plugins": [{
 "type": "one", "name": "own", "cniVersion": "0.1.0", "big": 9007199254740993, "float": 1.0,
 "text": "<&>", "none": null, "empty": {}, "deep": [{"a": [1.50]}], "cni.dev/foo": 1,
 "prevResult": {"x": 1}, "runtimeConfig": {"y": 1},
 "capabilities": {"mac": true, "ips": false, "aliases": true}}]}"""


def sent(runtime: Runtime, plugins: Plugins, attachment: Attachment, data: bytes = ODD) -> bytes:
    """stdin of the ADD of a configuration."""
    runtime.add(config.parse(data), attachment)
    return plugins.last("one ADD").stdin


def test_strict_sends_the_members_as_they_were_written(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-007 to RT-011: values to the digit, the runtime's own members not from the user."""
    text = sent(runtime(), plugins, attachment).decode()
    assert json.loads(text).keys() == {
        "cniVersion", "name", "type", "big", "float", "text", "none", "empty", "deep"
    }  # fmt: skip
    for piece in ('"big":9007199254740993', '"float":1.0', '"text":"<&>"', '"a":[1.50]'):
        assert piece in text
    assert (json.loads(text)["name"], json.loads(text)["cniVersion"]) == ("net", "1.1.0")


def test_libcni_turns_the_object_around_and_forwards_all_of_it(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """D5, D6: capabilities, reserved members, float64."""
    text = sent(runtime("libcni"), plugins, attachment).decode()
    document = json.loads(text)
    assert list(document) == sorted(document)
    assert '"big":9007199254740992,' in text
    assert '"text":"\\u003c\\u0026\\u003e"' in text
    assert document["prevResult"] == {"x": 1}
    assert document["runtimeConfig"] == {"y": 1}
    assert document["capabilities"]["mac"] is True
    assert document["cni.dev/foo"] == 1


@pytest.mark.parametrize("profile", ["strict", "libcni"])
@pytest.mark.parametrize(
    ("has", "runtime_config"),
    [
        ({}, None),
        ({"ips": ["10.1.0.9"], "other": 1}, None),
        ({"mac": "x", "ips": [], "other": 1}, {"mac": "x"}),
        ({"mac": "x", "aliases": []}, {"mac": "x", "aliases": []}),
    ],
)
def test_runtime_config_is_what_is_declared_and_at_hand(
    runtime: Make,
    plugins: Plugins,
    attachment: Attachment,
    profile: str,
    has: dict[str, Any],
    runtime_config: Any,
) -> None:
    """RT-044: and no member where that is nothing."""
    net = network({"type": "one", "capabilities": {"mac": True, "ips": False, "aliases": True}})
    runtime(profile).add(net, attrs.evolve(attachment, capability_args=has))
    assert plugins.last("one ADD").document.get("runtimeConfig") == runtime_config


def test_strict_sends_the_variables_of_the_verb_only(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-003: nothing of the runtime's own but what programs need to run."""
    environ = {"PATH": "/bin", "SECRET": "x", "CNI_ARGS": "STRAY=1", "CNI_FOO": "1"}
    about = attrs.evolve(attachment, args=[("B", "2"), ("A", "1")])
    runtime(environ=environ).add(network("one"), about)
    assert plugins.asked[0].env == {
        "PATH": "/bin",
        "CNI_COMMAND": "ADD",
        "CNI_CONTAINERID": "c1",
        "CNI_NETNS": attachment.netns,
        "CNI_IFNAME": "eth0",
        "CNI_ARGS": "B=2;A=1",
        "CNI_PATH": str(plugins.folder),
    }


def test_libcni_sends_its_whole_environment_and_all_variables(
    runtime: Make, plugins: Plugins
) -> None:
    """Empty where the verb has no use for them."""
    runtime("libcni", environ={"SECRET": "x", "CNI_ARGS": "STRAY=1"}).status(network("one"))
    assert plugins.asked[0].env == {
        "SECRET": "x",
        "CNI_COMMAND": "STATUS",
        "CNI_CONTAINERID": "",
        "CNI_NETNS": "",
        "CNI_IFNAME": "",
        "CNI_ARGS": "",
        "CNI_PATH": str(plugins.folder),
    }


def test_a_number_that_go_cannot_hold_is_a_broken_configuration_there(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-008: strict passes it on."""
    data = b'{"cniVersion": "1.1.0", "name": "net", "plugins": [{"type": "one", "n": 1e400}]}'
    assert b'"n":1E+400' in sent(runtime(), plugins, attachment, data)
    with pytest.raises(ConfigError, match="beyond float64"):
        sent(runtime("libcni"), plugins, attrs.evolve(attachment, container_id="c2"), data)
