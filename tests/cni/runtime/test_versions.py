"""VERSION: what is asked, and what the answers mean."""

from collections.abc import Callable

import pytest

from refimpl.cni.execute import Outcome
from refimpl.cni.runtime import BadAnswer, PluginFailed, PluginMissing, Runtime
from tests.cni.runtime.conftest import Plugins, printed, refused

Make = Callable[..., Runtime]


def test_the_versions_come_in_the_order_of_the_plugin(runtime: Make, plugins: Plugins) -> None:
    """The environment is that of the verb; libcni adds what old plugins refuse to be without."""
    reply = {"cniVersion": "1.1.0", "supportedVersions": ["1.0.0", "0.4.0", "1.1.0"]}
    plugins.answers["one VERSION"] = reply
    assert runtime().version("one") == ("1.0.0", "0.4.0", "1.1.0")
    assert plugins.asked[0].env == {"PATH": "/bin", "CNI_COMMAND": "VERSION"}
    assert plugins.asked[0].stdin == b'{"cniVersion":"1.1.0"}'
    runtime("libcni").version("one")
    env = plugins.asked[1].env
    assert {env[name] for name in ("CNI_NETNS", "CNI_IFNAME", "CNI_PATH")} == {"dummy"}
    assert (env["CNI_CONTAINERID"], env["CNI_ARGS"]) == ("", "")


def test_a_plugin_that_does_not_know_the_verb_is_of_0_1_0(runtime: Make, plugins: Plugins) -> None:
    """VERSION came with 0.2.0."""
    plugins.answers["one VERSION"] = refused(4, "unknown CNI_COMMAND: VERSION")
    assert runtime().version("one") == ("0.1.0",)
    assert runtime("libcni").version("one") == ("0.1.0",)


def test_a_reply_without_a_list_is_one_of_0_2_0(runtime: Make, plugins: Plugins) -> None:
    """Of no other version."""
    plugins.answers["one VERSION"] = {"cniVersion": "0.2.0"}
    assert runtime().version("one") == ("0.1.0", "0.2.0")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (printed({"cniVersion": "1.1.0"}), BadAnswer),
        (printed(b""), BadAnswer),
        (printed(b"oops"), BadAnswer),
        (refused(999, "broken"), PluginFailed),
    ],
)
def test_anything_else_is_no_answer(
    runtime: Make, plugins: Plugins, answer: Outcome, kind: type[Exception]
) -> None:
    """Said with the name of the plugin."""
    plugins.answers["one VERSION"] = answer
    with pytest.raises(kind, match="one VERSION"):
        runtime().version("one")


def test_a_missing_plugin_is_named(runtime: Make) -> None:
    """With where it was looked for."""
    with pytest.raises(PluginMissing, match="none VERSION: no regular file"):
        runtime().version("none")
