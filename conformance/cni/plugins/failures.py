"""Failures provoked on purpose, one of each sort, and how a case looks at them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator
from typing import Any

import attrs

from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.verdict import Broken
from refimpl.cni.contract import Verb, at_least
from refimpl.cni.execute import Outcome, Request

_FAILING = {"cniVersion": "1.0.0", "code": 111, "msg": "told to fail"}
_SPACE = " \t\r\n"


@attrs.frozen
class ProvokedFailure:
    """A call that failed as it was meant to. version: the one its document asks for, "" where none
    can be read or the plugin does not speak it.
    """

    name: str
    outcome: Outcome
    version: str


def provoked(plugin: PluginUnderTest) -> list[ProvokedFailure]:
    """Every call of `runs` that should have failed and did."""
    return [
        ProvokedFailure(name, outcome, version)
        for name, outcome, version in runs(plugin)
        if version is not None and not outcome.ok
    ]


def runs(plugin: PluginUnderTest) -> Iterator[tuple[str, Outcome, str | None]]:
    """One call of each sort by name, those that should fail with the version they ask for
    (as ProvokedFailure has it), the others with None. What an ADD makes is undone.
    """
    for name, request in _good(plugin):
        yield name, plugin.run(request), None
    pod = plugin.pod()
    for name, version, request in (*_misaddressed(plugin, pod), *_misconfigured(plugin, pod)):
        outcome = plugin.run(request)
        yield name, outcome, version
        if request.verb == Verb.ADD:  # what a failed one left would be in the way of the next
            plugin.run(plugin.request(Verb.DEL, pod))
    plugin.run(plugin.request(Verb.DEL, pod))
    yield from _misplaced(plugin)


def _good(plugin: PluginUnderTest) -> Iterator[tuple[str, Request]]:
    pod = plugin.pod()
    yield "VERSION", plugin.request(Verb.VERSION, None, {"cniVersion": plugin.newest})
    if plugin.attaches:
        yield "ADD", plugin.request(Verb.ADD, pod)
    yield "DEL", plugin.request(Verb.DEL, pod)
    if at_least(plugin.newest, "1.1.0"):
        yield "STATUS", plugin.request(Verb.STATUS)
        yield "GC", plugin.request(Verb.GC, valid=[])


def _misaddressed(
    plugin: PluginUnderTest, pod: CniAttachment
) -> Iterator[tuple[str, str, Request]]:
    """Bad environments."""
    add, version = plugin.request(Verb.ADD, pod), plugin.newest
    yield "ADD without CNI_CONTAINERID", version, add.with_env(CNI_CONTAINERID=None)
    yield "the unknown verb BOGUS", version, commanded(add, "BOGUS")
    gone = f"{plugin.folder}/no-such-namespace"
    yield "ADD with a CNI_NETNS that is not there", version, add.with_env(CNI_NETNS=gone)


def _misconfigured(
    plugin: PluginUnderTest, pod: CniAttachment
) -> Iterator[tuple[str, str, Request]]:
    """Bad documents, or bad for the moment."""
    add, version = plugin.request(Verb.ADD, pod), plugin.newest
    yield "ADD with a stdin that is no JSON", "", add.with_stdin(b'{"cniVersion": ')
    odd = {"name": "no name"}
    yield (
        "ADD for a name with a space",
        version,
        plugin.request(Verb.ADD, pod, plugin.config(**odd)),
    )
    yield "ADD in version 9.9.9", "", add.with_stdin(plugin.config("9.9.9"))
    if plugin.kind == "chained":
        bare = plugin.request(Verb.ADD, pod, prev_result=None)
        yield "ADD without prevResult", version, bare
    if at_least(version, "0.4.0"):
        bare = plugin.request(Verb.CHECK, pod, prev_result=None)
        yield "CHECK without prevResult", version, bare
    if plugin.subject.delegates:
        yield from _undelegated(plugin, pod)


def _undelegated(plugin: PluginUnderTest, pod: CniAttachment) -> Iterator[tuple[str, str, Request]]:
    failing = plugin.folder / "refimpl-failing"
    answer = shlex.quote(json.dumps(_FAILING))
    failing.write_text(f"#!/bin/sh\necho {answer}\nexit 1\n")
    failing.chmod(0o755)
    for name, what in (("refimpl-missing", "is missing"), (failing.name, "fails")):
        request = plugin.request(Verb.ADD, pod, plugin.config(ipam=plugin.ipam(type=name)))
        request = request.with_env(CNI_PATH=f"{plugin.folder}:{plugin.cni_path}")
        yield f"ADD whose delegate {what}", plugin.newest, request


def _misplaced(plugin: PluginUnderTest) -> Iterator[tuple[str, Outcome, str]]:
    """ADD into the namespace the plugin itself runs in, undone with the plugin's own leave."""
    if not plugin.has_host:
        return
    pod = plugin.pod()
    add = plugin.request(Verb.ADD, pod.other(netns=plugin.host.own_netns(), ifname="refimpl-own"))
    yield OWN_NETNS, plugin.run(add), plugin.newest
    undo = commanded(add, Verb.DEL).with_env(CNI_NETNS_OVERRIDE="1")
    plugin.run(undo)


OWN_NETNS = "ADD into the plugin's own namespace"


def commanded(request: Request, verb: str) -> Request:
    """The same call with another CNI_COMMAND."""
    return attrs.evolve(request, verb=verb).with_env(CNI_COMMAND=verb)


def attempt(
    plugin: PluginUnderTest, config: dict[str, Any] | bytes | None = None, **env: str | None
) -> Outcome:
    """ADD of a new pod, and DEL when that succeeded; where no ADD can succeed DEL alone, which
    can. The outcome of the first.
    """
    pod = plugin.pod()
    verb = Verb.ADD if plugin.attaches else Verb.DEL
    outcome = plugin.run(plugin.request(verb, pod, config).with_env(**env))
    if outcome.ok and plugin.attaches:
        plugin.run(plugin.request(Verb.DEL, pod))
    return outcome


def refused(
    outcome: Outcome, codes: Collection[int], rule: str, *, naming: Collection[str] = ()
) -> None:
    """Raises Broken unless the call failed with one of the codes and a text with those words."""
    names = f" naming {', '.join(naming)}" if naming else ""
    wanted = f"a failure with code {' or '.join(map(str, sorted(codes)))}{names}"
    error = None if outcome.ok else outcome.error
    if error is None or error.code not in codes:
        raise Broken(rule, wanted, outcome.brief())
    words = f"{error.msg} {error.details}"
    if not all(name in words for name in naming):
        raise Broken(rule, wanted, outcome.brief())


def ended(outcome: Outcome, rule: str) -> None:
    """Raises Broken unless the plugin ended by itself, with success or an error object."""
    if not (outcome.ok or (outcome.error and not outcome.timed_out)):
        raise Broken(rule, "exit 0, or an error object on stdout", outcome.brief())


def pieces(stdout: bytes) -> tuple[list[Any], str]:
    """The JSON values on stdout, one after the other, and the text from where there is none."""
    text = stdout.decode(errors="backslashreplace").lstrip(_SPACE)
    documents = []
    while text:
        value, end = _first(text)
        if not end:
            break
        documents.append(value)
        text = text[end:].lstrip(_SPACE)
    return documents, text


def _first(text: str) -> tuple[Any, int]:
    try:
        return json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None, 0


def is_error(document: Any) -> bool:
    """Whether a document is meant as an error object."""
    return isinstance(document, dict) and "code" in document


def consistent(name: str, outcome: Outcome) -> None:
    """Raises Broken where exit code and stdout contradict each other, or stdout itself."""
    documents, _ = pieces(outcome.stdout)
    if len(documents) > 1:
        raise Broken(f"a call prints one document at most: {name}", "one", outcome.brief())
    if outcome.ok and documents and is_error(documents[0]):
        raise Broken(f"a call that succeeds prints no error: {name}", "no code", outcome.brief())
    if not outcome.ok and documents and not is_error(documents[0]):
        raise Broken(f"a call that fails prints no result: {name}", "an error", outcome.brief())
