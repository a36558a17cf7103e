"""Properties that hold for any input: whatever comes, a plugin ends and speaks with one voice."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Mapping
from typing import Any

from conformance.cni.needs import ATTACHES
from conformance.cni.plugins.failures import commanded, consistent, pieces
from conformance.cni.plugins.outcomes import result_of
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.results import shapes
from conformance.engine.case import PROPERTY, case
from conformance.engine.verdict import expect, together
from refimpl.cni import contract
from refimpl.cni.contract import ConversionError, Result, Verb
from refimpl.cni.execute import Outcome, Request

_EXAMPLES = 25
_END_S = 5.0


@PROPERTY
@case("CNI-PLG-120", "CNI 1.1 Section 2, Errors")
def test_any_input_ends_with_one_document_at_most(plugin: PluginUnderTest) -> None:
    """Input comes from files, annotations and other plugins; none of it may hang the node."""
    from hypothesis import given

    from conformance.cni.plugins.inputs import requests
    from conformance.engine.properties import examples

    @examples(_EXAMPLES, plugin.seed)
    @given(requests(plugin))
    def holds(request: Request) -> None:
        outcome = plugin.run(request, deadline_s=_END_S)
        if outcome.ok and request.verb == Verb.ADD:
            plugin.run(commanded(request, Verb.DEL), deadline_s=_END_S)
        _judge(outcome)

    holds()


def _judge(outcome: Outcome) -> None:
    expect(not outcome.timed_out, "every call ends", wanted="an end", got=outcome.brief())
    documents, rest = pieces(outcome.stdout)
    objects = all(isinstance(each, dict) for each in documents)
    rule = "stdout is empty or one JSON object"
    expect(objects and not rest, rule, wanted="one object", got=outcome.brief())
    consistent("generated input", outcome)


Summary = dict[str, Any]
Writer = Callable[[Mapping[str, Any]], bytes]


@case("CNI-PLG-123", "CNI 1.1 Section 5, the Go library's conversions", needs=[ATTACHES])
def test_results_of_all_versions_tell_the_same(plugin: PluginUnderTest) -> None:
    """One node asks in one version, the next in another: the pod must be the same on both.

    Each result is that of the newest version as the conversion of results says it, but for what
    differs from ADD to ADD: hardware addresses, names on the host, the host part of addresses.
    Where no version between loses anything, a result comes back from there as it was.
    """
    results = {version: _result(plugin, version) for version in shapes(plugin)}
    newest = results[plugin.newest]
    with together() as check:
        for version, result in results.items():
            try:
                wanted = contract.convert(newest, version)
            except ConversionError:
                continue  # no address, which the oldest versions cannot say
            rule = f"a result of {version} tells what one of {plugin.newest} does"
            with check:
                expect(
                    _told(result) == _told(wanted), rule, wanted=_told(wanted), got=_told(result)
                )
            for other in contract.VERSIONS:
                if result.ips and contract.lossless(version, other):
                    there = contract.convert(result, other)
                    back = contract.convert(there, version)
                    rule = f"a result of {version} comes back from {other} as it was"
                    with check:
                        expect(back == result, rule, wanted=result, got=back)


def _result(plugin: PluginUnderTest, version: str) -> Result:
    pod = plugin.pod()
    document = plugin.added(pod, plugin.config(version))
    plugin.delete(pod)
    return contract.stripped(contract.decode(document, version, lenient=True))


def _told(result: Result) -> Summary:
    plain = contract.normalised(result)
    return {
        "interfaces": [(i.name if i.sandbox else "", bool(i.sandbox)) for i in plain.interfaces],
        "ips": [(_network(ip.address), ip.gateway, ip.interface) for ip in plain.ips],
        "routes": sorted((route.dst, route.gw) for route in plain.routes),
        "dns": plain.dns,
    }


def _network(address: str) -> str:
    try:
        return str(ipaddress.ip_interface(address).network)
    except ValueError:
        return address


@PROPERTY
@case("CNI-PLG-124", "CNI 1.1 Section 2, Overview: JSON")
def test_the_form_of_a_document_makes_no_difference(plugin: PluginUnderTest) -> None:
    """Runtimes write the same configuration in their own way, and no two alike."""
    good, bad = plugin.config(), plugin.config(name="no name")
    with together() as check:
        for name, document in (("a good document", good), ("a bad document", bad)):
            plain = _ending(plugin, document, lambda each: json.dumps(each).encode())
            for form, write in _FORMS.items():
                rule = f"{name} with {form} is answered like the plain one"
                with check:
                    got = _ending(plugin, document, write)
                    expect(got == plain, rule, wanted=plain, got=got)


def _ending(plugin: PluginUnderTest, document: Mapping[str, Any], write: Writer) -> tuple[str, Any]:
    """How an ADD of a new pod ended, and what of it is the same each time."""
    pod = plugin.pod()
    request = plugin.request(Verb.ADD if plugin.attaches else Verb.DEL, pod, document)
    outcome = plugin.run(request.with_stdin(write(json.loads(request.stdin))))
    if outcome.ok and plugin.attaches:
        plugin.run(plugin.request(Verb.DEL, pod))
    if not outcome.ok:
        error = outcome.error
        return outcome.ending.name, error.code if error else None
    if not plugin.attaches:
        return outcome.ending.name, None
    result = result_of(outcome, "ADD prints a result")
    return outcome.ending.name, _told(contract.decode(result, plugin.newest, lenient=True))


def _escaped(document: Mapping[str, Any]) -> bytes:
    """Every letter of every text as an escape."""

    def text(value: str) -> str:
        units = value.encode("utf-16-be")
        return '"' + "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)) + '"'

    def write(value: Any) -> str:
        if isinstance(value, Mapping):
            return "{" + ",".join(f"{text(k)}:{write(v)}" for k, v in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(write, value)) + "]"
        return text(value) if isinstance(value, str) else json.dumps(value)

    return write(document).encode()


def _turned(value: Any) -> Any:
    """With the members of every object in the opposite order."""
    if isinstance(value, Mapping):
        return {key: _turned(value[key]) for key in reversed(list(value))}
    return [_turned(each) for each in value] if isinstance(value, list) else value


def _spaced(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, indent="\t", separators=(" ,", " : "))
    return f"\r\n\t {text} \r\n\n".replace("\n", "\r\n").encode()


_FORMS: dict[str, Writer] = {
    "its members turned round": lambda document: json.dumps(_turned(document)).encode(),
    "its members sorted": lambda document: json.dumps(document, sort_keys=True).encode(),
    "white space everywhere": _spaced,
    "every letter escaped": _escaped,
}
