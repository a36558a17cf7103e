"""The document on stdin: none at all, no JSON, wrong members, odd but legal forms."""

from __future__ import annotations

from typing import Any

from conformance.cni.needs import SERVED, V0_4, V1_0
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.failures import attempt, ended, refused
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect, together
from refimpl.cni.contract import Verb
from refimpl.cni.execute import PLAIN, Conditions, Outcome
from refimpl.documents import json as documents

_DECODE = {6, 7}
_ANSWER_S = 5.0


@case("CNI-PLG-019", "CNI 1.1 Error, code 6 and 7", needs=[V0_4])
def test_a_stdin_that_is_no_object_is_refused(plugin: PluginUnderTest) -> None:
    """A runtime whose cache was cut off by a crash sends such things, on DEL above all."""
    whole = documents.dump(plugin.config())
    variants = {
        "nothing": b"",
        "half a document": whole[: len(whole) // 2],
        "an array": b"[]",
        "a string": b'"x"',
        "a number": b"1",
        "null": b"null",
        "a document and more": whole + b" trailing",
    }
    request = plugin.request(Verb.ADD, plugin.pod())
    with together() as check:
        for name, stdin in variants.items():
            with check:
                refused(
                    plugin.run(request.with_stdin(stdin)), _DECODE, f"{name} on stdin is refused"
                )


@case("CNI-PLG-020", "CNI 1.1 Configuration format, name", needs=[V1_0])
def test_an_illegal_network_name_is_refused(plugin: PluginUnderTest) -> None:
    """It names directories and chains of the host."""
    pod = plugin.pod()
    with together() as check:
        for name, codes in (
            (None, {7}),
            ("", {7}),
            ("x y", {7}),
            ("../x", {7}),
            (5, {6, 7}),
        ):
            named = "no name" if name is None else f"the name {name!r}"
            outcome = plugin.run(plugin.request(Verb.ADD, pod, plugin.config(name=name)))
            with check:
                refused(outcome, codes, f"a configuration with {named} is refused")


@case("CNI-PLG-021", "CNI 1.1 Error, code 6 and 7")
def test_a_member_of_a_wrong_type_is_refused_as_such(plugin: PluginUnderTest) -> None:
    """Codes are all a runtime can act on: this one says that no repetition helps.

    A plugin may pass over members that it has no use for, and fail for want of its daemon.
    """
    wrong: dict[str, Any] = {
        "cniVersion": 1,
        "name": ["refimpl"],
        "type": 5,
        "ipam": "host-local",
        "dns": [],
        "args": "x",
        "runtimeConfig": [],
        "prevResult": "none",
        "ipMasq": "yes",
    }
    used = {"cniVersion", "name"}
    if plugin.attaches and plugin.kind == "chained":
        used.add("prevResult")
    if plugin.attaches and (plugin.kind == "ipam" or plugin.subject.delegates):
        used.add("ipam")
    with together() as check:
        for member, value in wrong.items():
            outcome = _with_member(plugin, plugin.pod(), member, value)
            rule = f"{member} of a wrong type is refused with a code for that"
            with check:
                if member in used or not (outcome.ok or plugin.subject.unserved):
                    refused(outcome, _DECODE, rule)


def _with_member(plugin: PluginUnderTest, pod: CniAttachment, member: str, value: Any) -> Outcome:
    request = plugin.request(Verb.ADD if plugin.attaches else Verb.DEL, pod)
    document = {**documents.parse(request.stdin).value, member: value}
    outcome = plugin.run(request.with_stdin(document))
    if plugin.attaches:
        plugin.run(plugin.request(Verb.DEL, pod))
    return outcome


@case("CNI-PLG-022", "robustness: the document on stdin")
def test_odd_documents_are_answered_in_time(plugin: PluginUnderTest) -> None:
    """A plugin that hangs on its input holds up every pod of the node behind it."""
    whole = documents.dump(plugin.config())
    deep = b"[" * 10_000 + b"]" * 10_000
    variants = [
        ("5 MiB on stdin", _more(whole, b'"args":{"refimpl":"' + b"x" * (5 << 20) + b'"}'), PLAIN),
        ("stdin byte by byte", whole, Conditions(chunk=1)),
        ("10,000 arrays in one another", _more(whole, b'"args":{"refimpl":' + deep + b"}"), PLAIN),
        ("a byte order mark", b"\xef\xbb\xbf" + whole, PLAIN),
        ("a name that is there twice", _more(whole, b'"name":"refimpl-twice"'), PLAIN),
    ]
    pod = plugin.pod()
    with together() as check:
        for name, stdin, conditions in variants:
            request = plugin.request(Verb.DEL, pod, stdin)
            outcome = plugin.run(request, deadline_s=_ANSWER_S, conditions=conditions)
            rule = f"DEL with {name} is answered within {_ANSWER_S:g} s"
            with check:
                if outcome.timed_out:
                    raise Broken(rule, "an end", outcome.brief())
                ended(outcome, rule)


def _more(document: bytes, member: bytes) -> bytes:
    return b"{" + member + b"," + document[1:]


@case("CNI-PLG-023", "CNI 1.1 Plugin configuration objects, Error code 2", needs=[SERVED])
def test_an_unknown_member_is_ignored_or_named(plugin: PluginUnderTest) -> None:
    """Whoever misspelt a member has to learn which one it was."""
    member, value = "refimplUnknown", "acme-7"
    outcome = attempt(plugin, plugin.config(**{member: value}))
    rule = f"an unknown member {member!r} is ignored, or refused by name and value"
    if not outcome.ok:
        refused(outcome, {2}, rule, naming=[member, value])


@case("CNI-PLG-024", "CNI conventions, args", needs=[SERVED])
def test_what_args_holds_for_others_is_ignored(plugin: PluginUnderTest) -> None:
    """`args` goes to every plugin of a network, and each understands some of it."""
    unknown = {"refimpl.example": {"zone": 7}, "cni": {"labels": [{"key": "a", "value": "b"}]}}
    outcome = attempt(plugin, plugin.config(args=unknown))
    succeeded(outcome, "args that mean nothing to the plugin are ignored")


@case("CNI-PLG-028", "CNI 1.1 Section 2, Overview: JSON", needs=[SERVED])
def test_members_are_known_by_their_exact_name(plugin: PluginUnderTest) -> None:
    """A configuration that works with one plugin for its letter case fails with the next."""
    with together() as check:
        for member, other in (("name", "NAME"), ("cniVersion", "CNIVersion")):
            document = plugin.config()
            document[other] = document.pop(member)
            if member == "cniVersion":
                document[other] = "9.9.9"
            outcome = attempt(plugin, document)
            if plugin.settings.policy == "practice":
                continue  # the Go library takes any letter case
            rule = f"{other} is not taken for {member}"
            with check:
                if member == "name":
                    refused(outcome, {7}, rule)
                else:
                    about = not outcome.ok and "9.9.9" in outcome.stdout.decode(errors="replace")
                    expect(not about, rule, wanted="no word about 9.9.9", got=outcome.brief())
