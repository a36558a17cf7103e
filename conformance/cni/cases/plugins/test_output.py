"""What a plugin prints and how it ends: one document or none, on stdout, and nothing after it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from conformance.cni.needs import ATTACHES, V0_4
from conformance.cni.plugins.failures import OWN_NETNS, consistent, is_error, pieces, provoked, runs
from conformance.cni.plugins.outcomes import result_of
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.contract import Kind, Verb, allowed_code, at_least, problems
from refimpl.cni.execute import Conditions, Outcome
from refimpl.documents import json as documents


@case("CNI-PLG-029", "CNI 1.1 ADD success", needs=[ATTACHES])
def test_add_prints_one_json_object_and_nothing_else(plugin: PluginUnderTest) -> None:
    """A log line or a byte order mark before it, and the runtime throws the pod away."""
    outcome = plugin.add(plugin.pod())
    rule = "stdout of a successful ADD is one JSON object in UTF-8"
    result = result_of(outcome, rule)
    with together() as check:
        notes = [str(note) for note in documents.parse(outcome.stdout).notes]
        with check:
            expect(not notes, rule, wanted="plain JSON", got=notes)
        wrong = problems(result, plugin.newest, ipam=plugin.kind == "ipam")
        floats = [str(each) for each in wrong if each.kind is Kind.TYPE and _decimal(result, each)]
        with check:
            expect(
                not floats, "integers of a result are written as integers", wanted="1", got=floats
            )


def _decimal(value: Any, problem: Any) -> bool:
    for step in problem.pointer.split("/")[1:]:
        value = value[int(step) if isinstance(value, list) else step]
    return isinstance(value, Decimal)


@case("CNI-PLG-030", "CNI 1.1 Error")
def test_a_failure_prints_one_error_object(plugin: PluginUnderTest) -> None:
    """It is all that a user sees of what went wrong; up to CNI 0.4 it is a must."""
    with together() as check:
        for failure in provoked(plugin):
            printed, rest = pieces(failure.outcome.stdout)
            if len(printed) > 1 or rest:
                continue  # what does not belong there is a matter of its own
            rule = f"a failure prints one error object: {failure.name}"
            error = printed[0] if printed and is_error(printed[0]) else None
            with check:
                expect(error, rule, wanted="one error object", got=failure.outcome.brief())
            if error is None:
                continue
            code, text = error["code"], error.get("msg")
            number = isinstance(code, int) and not isinstance(code, bool) and code > 0
            with check:
                expect(number, f"{rule}, with a code", wanted="an integer from 1 on", got=code)
            with check:
                worded = isinstance(text, str) and text
                expect(worded, f"{rule}, with a msg", wanted="a text", got=text)


@case("CNI-PLG-031", "CNI 1.1 Error")
def test_an_error_object_has_the_version_of_the_request(plugin: PluginUnderTest) -> None:
    """Runtimes read an error as a document of the version they used."""
    with together() as check:
        for failure in provoked(plugin):
            printed, _ = pieces(failure.outcome.stdout)
            error = printed[-1] if printed and is_error(printed[-1]) else None
            if error is None or not failure.version:
                continue  # not an error object, or no version that could be told
            if _practical(plugin) and "cniVersion" not in error:
                continue  # the error objects of the Go library have none
            with check:
                expect(
                    error.get("cniVersion") == failure.version,
                    f"an error object has the cniVersion of the request: {failure.name}",
                    wanted=failure.version,
                    got=error,
                )


@case("CNI-PLG-032", "CNI 1.1 Errors")
def test_a_call_ends_with_success_or_with_an_error_never_both(plugin: PluginUnderTest) -> None:
    """A runtime that reads the first document sees a success which the exit code denies."""
    with together() as check:
        for name, outcome, _ in runs(plugin):
            if name == OWN_NETNS and _practical(plugin):
                continue  # the Go library looks only after the work
            with check:
                consistent(name, outcome)


@case("CNI-PLG-033", "CNI 1.1 Error, codes", needs=[V0_4])
def test_error_codes_are_those_of_the_table_or_the_plugins_own(plugin: PluginUnderTest) -> None:
    """The codes up to 99 have meanings that runtimes act on, the free ones will get theirs."""
    with together() as check:
        for failure in provoked(plugin):
            printed, _ = pieces(failure.outcome.stdout)
            # The Go library's code for a namespace it refuses, which no table has.
            accepted = {8} if failure.name == OWN_NETNS or _practical(plugin) else set()
            for code in (each["code"] for each in printed if is_error(each) and each["code"] != 0):
                with check:
                    expect(
                        code in accepted or (isinstance(code, int) and allowed_code(code)),
                        f"a code is one of the table, or 100 and above: {failure.name}",
                        wanted="1 to 7, 11, 50, 51, or from 100 on",
                        got=failure.outcome.brief(),
                    )


def _practical(plugin: PluginUnderTest) -> bool:
    return plugin.settings.policy == "practice"


@case("CNI-PLG-034", "CNI 1.1 Section 5: logs on stderr")
def test_nothing_but_documents_is_printed_on_stdout(plugin: PluginUnderTest) -> None:
    """A log line on stdout makes every answer unreadable (seen in the field)."""
    with together() as check:
        for name, outcome, _ in runs(plugin):
            _, rest = pieces(outcome.stdout)
            with check:
                expect(
                    not rest, f"stdout holds no other text: {name}", wanted="JSON alone", got=rest
                )


@case("CNI-PLG-035", "CNI 1.1 CNI operations", needs=[V0_4])
def test_verbs_without_a_result_print_nothing_when_they_succeed(plugin: PluginUnderTest) -> None:
    """Only ADD and VERSION have something to say; a runtime may take more for an error."""
    pod = plugin.pod()
    calls = []
    if plugin.attaches:
        plugin.added(pod)
        calls.append((Verb.CHECK, plugin.check(pod)))
    calls.append((Verb.DEL, plugin.delete(pod)))
    if at_least(plugin.newest, "1.1.0"):
        calls += [(Verb.STATUS, plugin.status()), (Verb.GC, plugin.gc([]))]
    with together() as check:
        for verb, outcome in calls:
            silent = not outcome.ok or not outcome.stdout.strip()
            with check:
                expect(
                    silent, f"{verb} that succeeds prints nothing", wanted="", got=outcome.brief()
                )


@case("CNI-PLG-036", "practice: runtimes in Go read both streams to their end")
def test_nothing_outlives_a_call(plugin: PluginUnderTest) -> None:
    """A child that inherited stdout makes the runtime wait for it, pod after pod."""
    pod = plugin.pod()
    with together() as check:
        for name, request in (
            ("ADD", plugin.request(Verb.ADD, pod)),
            ("DEL", plugin.request(Verb.DEL, pod)),
            ("a failure", plugin.request(Verb.ADD, pod, b"no JSON")),
        ):
            outcome = plugin.run(request)
            rule = f"stdout and stderr end with the call: {name}"
            with check:
                expect(not outcome.held_open, rule, wanted="an end within 1 s", got="still open")
            left = outcome.left
            with check:
                expect(not left, f"no process stays behind: {name}", wanted="none", got=left)


@case("CNI-PLG-037", "robustness: stdout that cannot be written")
def test_a_result_that_cannot_be_told_is_no_success(plugin: PluginUnderTest) -> None:
    """The runtime never learns of the attachment, so it had better not be there.

    A signal is a failure too: a pipe that nobody reads ends many programs.
    """
    if plugin.attaches:
        plugin.attached()  # what the first attachment makes for all may stay
    pod = plugin.pod()
    with together() as check:
        for name, conditions in (
            ("a pipe that nobody reads", Conditions(stdout="broken")),
            ("a full disk", Conditions(stdout="full")),
        ):
            request = plugin.request(Verb.VERSION, None, {"cniVersion": plugin.newest})
            with check:
                _failed(
                    plugin.run(request, conditions=conditions),
                    f"VERSION with stdout on {name} fails",
                )
            if not plugin.attaches:
                continue
            before = plugin.state()
            outcome = plugin.run(plugin.request(Verb.ADD, pod), conditions=conditions)
            left = before.difference(plugin.state())
            plugin.run(plugin.request(Verb.DEL, pod))
            rule = f"ADD with stdout on {name} fails"
            with check:
                _failed(outcome, rule)
            with check:
                expect(not left, f"{rule} and leaves nothing", wanted="no difference", got=left)


def _failed(outcome: Outcome, rule: str) -> None:
    expect(not outcome.ok, rule, wanted="a failure", got=outcome.brief())
