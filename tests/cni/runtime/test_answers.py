"""Results, errors and what is neither (rows CNI-RT-013 to 019)."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from refimpl.cni.execute import Outcome
from refimpl.cni.runtime import Attachment, BadAnswer, PluginFailed, Runtime
from tests.cni.runtime.conftest import RESULT, Plugins, network, printed, refused

Make = Callable[..., Runtime]


def test_a_result_without_a_version_is_one_of_the_network(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-013: plugins of before 1.0.0 leave it out."""
    plugins.answers["one ADD"] = {"ips": [{"address": "10.1.0.2/24"}]}
    assert runtime().add(network("one", "two"), attachment).cni_version == "1.1.0"
    assert plugins.last("two ADD").document["prevResult"]["cniVersion"] == "1.1.0"


def test_the_family_of_an_address_is_filled_in_where_it_is_asked_for(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """The reference loopback plugin leaves it out; the next plugin gets a sound prevResult."""
    ips = [{"address": "127.0.0.1/8"}, {"address": "::1/128"}]
    plugins.answers |= {
        name: {"cniVersion": "0.4.0", "ips": ips} for name in ("one ADD", "two ADD")
    }
    runtime().add(network("one", "two", cniVersion="0.4.0"), attachment)
    sent = plugins.last("two ADD").document["prevResult"]["ips"]
    assert [each["version"] for each in sent] == ["4", "6"]


@pytest.mark.parametrize(
    "outcome",
    [
        printed(b""),
        printed(b"null"),
        printed(b"[]"),
        printed(b"{}{}"),
        printed(b"starting\n{}"),
        printed(b'{"x": "\xff"}'),
        printed(b"{" * 2000),
        printed(RESULT, stdout_bytes=20 * 2**20),
        printed({**RESULT, "cniVersion": "9.0.0"}),
        printed({**RESULT, "cniVersion": 1}),
        printed({**RESULT, "interfaces": {}}),
        printed({**RESULT, "ips": [{"address": "10.1.0.2"}]}),
    ],
)
def test_what_is_no_result_is_a_failure(
    runtime: Make, plugins: Plugins, attachment: Attachment, outcome: Outcome
) -> None:
    """RT-015: a clean one, and DEL follows."""
    plugins.answers["two ADD"] = outcome
    with pytest.raises(BadAnswer, match=r"^two ADD: ") as caught:
        runtime().add(network("one", "two"), attachment)
    assert len(str(caught.value)) < 2000
    assert plugins.order == ["one ADD", "two ADD", "two DEL", "one DEL"]


def test_an_empty_object_is_an_empty_result(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-015: a plugin of layer 2 may have nothing to say."""
    plugins.answers["one ADD"] = {}
    result = runtime().add(network("one"), attachment)
    assert (result.interfaces, result.ips) == ((), ())


def test_an_error_object_is_an_error_whatever_the_exit_code(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-016: libcni takes it for an empty result and runs the next plugin."""
    error = {"cniVersion": "1.1.0", "code": 11, "msg": "later", "details": "no lease"}
    plugins.answers["one ADD"] = error
    with pytest.raises(PluginFailed, match=r"one ADD: later; no lease .code 11"):
        runtime().add(network("one", "two"), attachment)
    assert runtime("libcni").add(network("one", "two"), attachment).ips
    assert plugins.order[-2:] == ["one ADD", "two ADD"]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (printed(RESULT, 1), "exit 1"),
        (printed(b"", -11), "signal 11"),
        (printed(b"", 137), "exit 137"),
        (printed(b"", 1, stderr=b"it broke"), "it broke"),
    ],
)
def test_any_other_end_than_exit_0_is_a_failure(
    runtime: Make, plugins: Plugins, attachment: Attachment, outcome: Outcome, words: str
) -> None:
    """RT-017: and the text says what came."""
    plugins.answers["one ADD"] = outcome
    with pytest.raises(BadAnswer, match=words):
        runtime().add(network("one"), attachment)


def test_code_message_and_details_reach_the_caller(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """RT-018."""
    plugins.answers["one ADD"] = refused(7, "bad subnet", "10.0.0.0/33")
    with pytest.raises(PluginFailed) as caught:
        runtime().add(network("one"), attachment)
    error = caught.value
    assert (error.code, error.msg, error.details) == (7, "bad subnet", "10.0.0.0/33")
    assert str(error) == "one ADD: bad subnet; 10.0.0.0/33 (code 7 INVALID_CONFIG)"


@pytest.mark.parametrize("index", [1, -1, 2**31, "0"])
def test_an_index_without_an_interface_is_a_failure(
    runtime: Make, plugins: Plugins, attachment: Attachment, index: Any
) -> None:
    """RT-019: in containerd this ends the daemon."""
    bad = {**RESULT, "ips": [{"address": "10.1.0.2/24", "interface": index}]}
    plugins.answers["one ADD"] = bad
    with pytest.raises(BadAnswer, match="/ips/0/interface"):
        runtime().add(network("one"), attachment)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (printed(b"", 1), "failed with no error message: exit status 1"),
        (printed(b"", 1, stderr=b"it broke"), "failed: 'it broke': exit status 1"),
        (printed(b"oops", 1), "diagnostic message 'oops'"),
        (refused(7, "no"), "no .code 7"),
    ],
)
def test_libcni_makes_an_error_of_what_it_finds(
    runtime: Make, plugins: Plugins, attachment: Attachment, outcome: Outcome, words: str
) -> None:
    """stdout first, then stderr, then a text of its own."""
    plugins.answers["one ADD"] = outcome
    with pytest.raises(PluginFailed, match=words):
        runtime("libcni").add(network("one"), attachment)


def test_libcni_drops_members_it_does_not_know(
    runtime: Make, plugins: Plugins, attachment: Attachment
) -> None:
    """D12: on the way to the next plugin."""
    plugins.answers["one ADD"] = {**RESULT, "x": 1}
    runtime("libcni").add(network("one", "two"), attachment)
    assert plugins.last("two ADD").document["prevResult"] == RESULT
    assert json.loads(plugins.last("two ADD").stdin)["prevResult"].keys() == RESULT.keys()
