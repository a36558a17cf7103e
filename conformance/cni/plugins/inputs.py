"""Hypothesis strategies for whole calls, likely and unlikely ones, that touch nothing of the host.

Only the documents and variables vary: directories stay inside the case's folder, namespaces are
the case's own or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from conformance.cni.generate import arg_texts, container_ids, ifnames, json_values
from conformance.cni.generate import documents as results
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.passed_on import prev_result_of
from conformance.cni.plugins.plugin import PluginUnderTest
from refimpl.cni.contract import Verb
from refimpl.cni.execute import Request
from refimpl.documents import json as documents

_MEMBERS = ("cniVersion", "name", "type", "prevResult", "runtimeConfig", "args", "dns", "ipMasq")


@st.composite
def requests(draw: DrawFn, plugin: PluginUnderTest) -> Request:
    """Any verb with any environment and any document."""
    pod = draw(st.sampled_from(_pods(plugin)))
    verb = draw(st.sampled_from([*Verb, "BOGUS", "", "add"]))
    request = plugin.request(verb, pod)
    odd = {name: draw(strategy) for name, strategy in _variables(plugin).items()}
    chosen = draw(st.lists(st.sampled_from(sorted(odd)), max_size=2, unique=True))
    return request.with_env(**{name: odd[name] for name in chosen}).with_stdin(
        draw(_stdins(documents.parse(request.stdin).value))
    )


@st.composite
def prev_results(draw: DrawFn, pod: CniAttachment, versions: Sequence[str]) -> dict[str, Any]:
    """What the plugins before a chained one made, and more that is nothing to it: interfaces of
    other names, their addresses, routes, name servers.
    """
    version = draw(st.sampled_from(versions))
    true: dict[str, Any] = prev_result_of(pod, version)
    more: dict[str, Any] = draw(results(version, unknown=False, sandboxes=[pod.netns]))
    interfaces = more.get("interfaces", [])
    names = [each["name"] for each in true["interfaces"]]
    assume(not any(each["name"] in names for each in interfaces))
    # Which family an IPv4 address in IPv6 form is of, no version says.
    plain = [ip for ip in more.get("ips", []) if not ip["address"].startswith("::ffff:")]
    ips = [ip for ip in plain if "interface" in ip]
    shifted = [{**ip, "interface": ip["interface"] + len(names)} for ip in ips]
    return {
        **more,
        "interfaces": [*true["interfaces"], *interfaces],
        "ips": [*true["ips"], *shifted],
        "routes": [*true["routes"], *more.get("routes", [])],
    }


def _pods(plugin: PluginUnderTest) -> list[Any]:
    """One pod for all examples: a namespace each would cost more than the calls."""
    return [plugin.pod()]


def _variables(plugin: PluginUnderTest) -> dict[str, SearchStrategy[str | None]]:
    text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
    gone = st.just(f"{plugin.folder}/no-such-namespace")
    return {
        "CNI_CONTAINERID": container_ids() | text | st.none(),
        "CNI_NETNS": gone | st.sampled_from(["", "no such path", None]),
        "CNI_IFNAME": ifnames() | text | st.none(),
        "CNI_ARGS": arg_texts() | text,
        "CNI_PATH": st.sampled_from([None, "", str(plugin.folder), ":::"]),
        "CNI_FOO": text,
    }


@st.composite
def _stdins(draw: DrawFn, good: dict[str, Any]) -> bytes:
    kind = draw(st.sampled_from(["good", "one member", "any value", "bytes"]))
    if kind == "any value":
        return documents.dump(draw(json_values()))
    if kind == "bytes":
        return draw(st.binary(max_size=64))
    if kind == "one member":
        good = {**good, draw(st.sampled_from(_MEMBERS)): draw(json_values(3))}
    return documents.dump(good)
