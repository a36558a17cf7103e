"""The environment of a call: variables that are missing, wrong, or nothing to the plugin."""

from __future__ import annotations

import attrs

from conformance.cni.needs import ATTACHES, NETNS, SERVED, UNAIDED, V0_4, V1_0
from conformance.cni.plugins.failures import attempt, commanded, ended, refused
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.contract import SINCE, Verb, at_least
from refimpl.cni.contract.environment import REQUIRED, TABLE
from refimpl.cni.execute import PLAIN, Conditions, Outcome, Request

_LONG_NAME = "refimpl-if-0015"
_TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def _without_verb(request: Request) -> Request:
    return attrs.evolve(request, verb="").with_env(CNI_COMMAND=None)


@case("CNI-PLG-009", "CNI 1.1 Errors", needs=[V0_4])
def test_a_call_without_a_command_fails(plugin: PluginUnderTest) -> None:
    """A runtime that lost the variable must not take silence for an attachment."""
    request = _without_verb(plugin.request(Verb.ADD, plugin.pod()))
    with together() as check:
        for name, each in (
            ("the other variables", request),
            ("no variable", attrs.evolve(request, env={})),
        ):
            outcome = plugin.run(each)
            if plugin.settings.policy == "practice" and _tells_about_itself(outcome):
                continue
            with check:
                refused(outcome, {4}, f"a call with {name} and no CNI_COMMAND is refused")


def _tells_about_itself(outcome: Outcome) -> bool:
    """What the Go library does for people: a text on stderr and success."""
    return outcome.ok and not outcome.stdout.strip() and bool(outcome.stderr.strip())


@case("CNI-PLG-010", "CNI 1.1 Error, code 4", needs=[V0_4])
def test_an_unknown_command_is_refused_by_name(plugin: PluginUnderTest) -> None:
    """The next version's verbs reach old plugins; taken for something else they do harm."""
    request = plugin.request(Verb.ADD, plugin.pod())
    with together() as check:
        for verb in ("add", "BOGUS", "ADD ", "UPDATE"):
            rule = f"CNI_COMMAND {verb!r} is refused and named"
            with check:
                refused(plugin.run(commanded(request, verb)), {4}, rule, naming=["CNI_COMMAND"])


@case("CNI-PLG-011", "CNI 1.1 Error, code 3 and 4", needs=[V0_4])
def test_the_command_is_judged_before_the_container_id(plugin: PluginUnderTest) -> None:
    """GC has no container; code 3 would tell the runtime that there is nothing to clean up."""
    request = plugin.request(Verb.ADD, plugin.pod()).with_env(CNI_CONTAINERID=None)
    with together() as check:
        rule = "an unknown CNI_COMMAND without container id is refused for the command"
        with check:
            refused(plugin.run(commanded(request, "BOGUS")), {4}, rule, naming=["CNI_COMMAND"])
        if not at_least(plugin.newest, SINCE[Verb.GC]):
            return  # to it GC is an unknown verb as well
        outcome = plugin.run(plugin.request(Verb.GC, valid=[]))
        rule = "GC needs no CNI_CONTAINERID"
        with check:
            error = None if outcome.ok else outcome.error
            about_id = error and (error.code == 3 or "CNI_CONTAINERID" in error.msg)
            expect(not about_id, rule, wanted="no word about the container id", got=outcome.brief())


def _demands(plugin: PluginUnderTest) -> list[tuple[Verb, list[str]]]:
    """The verbs the plugin knows and what each demands beside CNI_COMMAND."""
    known = [verb for verb in TABLE if at_least(plugin.newest, SINCE[verb])]
    needed = {verb: [n for n, how in TABLE[verb].items() if how == REQUIRED] for verb in known}
    return [(verb, names[1:]) for verb, names in needed.items() if names[1:]]


@case("CNI-PLG-012", "CNI 1.1 Parameters", needs=[V0_4])
def test_a_missing_variable_is_refused_by_name(plugin: PluginUnderTest) -> None:
    """An empty path or name inside a plugin running as root ends anywhere on the host."""
    pod = plugin.pod()
    with together() as check:
        for verb, names in _demands(plugin):
            for name in names:
                request = plugin.request(verb, None if verb is Verb.GC else pod)
                outcome = plugin.run(request.with_env(**{name: None}))
                with check:
                    refused(
                        outcome, {4}, f"{verb} without {name} is refused and named", naming=[name]
                    )


@case("CNI-PLG-013", "CNI 1.1 Error, code 4", needs=[V0_4])
def test_all_missing_variables_are_named_at_once(plugin: PluginUnderTest) -> None:
    """Whoever writes a runtime should not have to find them one by one."""
    names = ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"]
    request = plugin.request(Verb.ADD, plugin.pod()).with_env(**dict.fromkeys(names))
    rule = "ADD without several variables names each of them"
    refused(plugin.run(request), {4}, rule, naming=names)


@case("CNI-PLG-014", "CNI 1.1 Parameters", needs=[V1_0, UNAIDED])
def test_cni_path_is_optional_for_a_plugin_that_runs_no_other(plugin: PluginUnderTest) -> None:
    """A plugin that never looks for another has no use for a list of directories."""
    pod = plugin.pod()
    verbs = [Verb.ADD, Verb.CHECK, Verb.DEL] if plugin.attaches else [Verb.DEL]
    verbs += [Verb.STATUS] if at_least(plugin.newest, SINCE[Verb.STATUS]) else []
    with together() as check:
        for verb in verbs:
            request = plugin.request(verb, None if verb is Verb.STATUS else pod)
            outcome = plugin.run(request.with_env(CNI_PATH=None))
            if plugin.settings.policy == "practice" and outcome.error and outcome.error.code == 4:
                continue  # the Go library demands it
            with check:
                succeeded(outcome, f"{verb} without CNI_PATH works where no plugin has to be found")
            if verb is Verb.ADD and outcome.ok:
                pod.result, pod.config = outcome.document, plugin.config()


@case("CNI-PLG-015", "CNI 1.1 Parameters, CNI_CONTAINERID", needs=[V1_0])
def test_an_illegal_container_id_is_refused(plugin: PluginUnderTest) -> None:
    """It becomes part of paths and rules: one with a slash writes where it likes."""
    pod = plugin.pod()
    before = plugin.state()
    with together() as check:
        for text in ("../x", "-a", ".a", "a b", "a/b", "é", "a\nb", "\n", ""):
            outcome = plugin.run(plugin.request(Verb.ADD, pod).with_env(CNI_CONTAINERID=text))
            with check:
                refused(outcome, {4}, f"CNI_CONTAINERID {text!r} is refused")
        changed = before.difference(plugin.state())
        with check:
            rule = "an ADD with an illegal CNI_CONTAINERID leaves nothing"
            expect(not changed, rule, wanted="no difference", got=changed)


@case("CNI-PLG-016", "CNI 1.1 Parameters, CNI_CONTAINERID", needs=[V1_0])
def test_a_long_container_id_is_taken_or_refused_cleanly(plugin: PluginUnderTest) -> None:
    """No limit is written down; file and chain names have one, and a plugin must cope."""
    first = plugin.pod()
    with together() as check:
        for length in (1, 64, 255, 4096):
            pod = first.other(container_id="a" * length)
            outcome = plugin.add(pod)
            with check:
                ended(outcome, f"ADD with a container id of {length} characters ends cleanly")
            with check:
                ended(
                    plugin.delete(pod),
                    f"DEL with a container id of {length} characters ends cleanly",
                )


@case("CNI-PLG-017", "CNI 1.1 Parameters, CNI_IFNAME", needs=[V0_4])
def test_an_impossible_interface_name_is_refused(plugin: PluginUnderTest) -> None:
    """Shortened or taken half, two names become one and pods share an interface."""
    request = plugin.request(Verb.ADD, plugin.pod())
    with together() as check:
        for text in ("a" * 16, ".", "..", "a/b", "a:b", "a b", "a\tb", "a\u2003b", "é" * 8):
            outcome = plugin.run(request.with_env(CNI_IFNAME=text))
            with check:
                refused(outcome, {4}, f"CNI_IFNAME {text!r} is refused")


@case("CNI-PLG-018", "CNI 1.1 Parameters, CNI_IFNAME")
def test_an_interface_name_of_fifteen_characters_is_taken(plugin: PluginUnderTest) -> None:
    """It is the longest that Linux has, and runtimes generate such names."""
    pod = plugin.pod(ifname=_LONG_NAME)
    rule = f"CNI_IFNAME {_LONG_NAME} is accepted"
    if not plugin.attaches:
        outcome = plugin.run(plugin.request(Verb.ADD, pod))
        refusal = not outcome.ok and outcome.error and outcome.error.code == 4
        expect(not refusal, rule, wanted="no failure with code 4", got=outcome.brief())
        return
    with together() as check:
        with check:
            succeeded(plugin.add(pod), rule)
        with check:
            if plugin.kind == "interface":
                links = plugin.host.links(pod.netns)
                expect(
                    _LONG_NAME in links, f"{rule} and made", wanted=_LONG_NAME, got=sorted(links)
                )


@case("CNI-PLG-025", "practice: the Go library, Kubernetes runtimes", needs=[SERVED])
def test_unknown_cni_args_are_ignored_where_that_is_asked_for(plugin: PluginUnderTest) -> None:
    """Runtimes of Kubernetes send the pod's name to every plugin, with this word before it."""
    with together() as check:
        for word in ("1", "true", "True"):
            args = f"IgnoreUnknown={word};REFIMPL_UNKNOWN=value"
            outcome = attempt(plugin, CNI_ARGS=args)
            with check:
                succeeded(outcome, f"CNI_ARGS {args!r} is no trouble")


@case("CNI-PLG-026", "practice: the Go library refuses malformed CNI_ARGS")
def test_malformed_cni_args_end_cleanly(plugin: PluginUnderTest) -> None:
    """They come from users' annotations; a crash tells nobody which one it was."""
    with together() as check:
        for args in ("A", "A=b=c", "IgnoreUnknown=1;"):
            with check:
                ended(attempt(plugin, CNI_ARGS=args), f"CNI_ARGS {args!r} ends cleanly")


@case("CNI-PLG-027", "robustness: the rest of the environment", needs=[SERVED])
def test_what_is_no_parameter_has_no_effect(plugin: PluginUnderTest) -> None:
    """Runtimes start plugins with what they have themselves, from wherever they are."""
    variants: list[tuple[str, dict[str, str | None], Conditions]] = [
        ("CNI_FOO set", {"CNI_FOO": "bar"}, PLAIN),
        ("TRACEPARENT set", {"TRACEPARENT": _TRACE}, PLAIN),
        ("HOME and PATH not set", {"HOME": None, "PATH": None}, PLAIN),
        ("its working directory removed", {}, Conditions(gone=True)),
        ("stderr closed", {}, Conditions(closed=frozenset({2}))),
        ("umask 0", {}, Conditions(umask=0)),
    ]
    verbs = [Verb.ADD, Verb.DEL] if plugin.attaches else [Verb.DEL]
    with together() as check:
        for name, env, conditions in variants:
            pod = plugin.pod()
            for verb in verbs:
                request = plugin.request(verb, pod).with_env(**env)
                rule = f"{verb} with {name} works as ever"
                with check:
                    succeeded(plugin.run(request, conditions=conditions), rule)


@case("CNI-PLG-130", "CNI 1.1 Section 3, attachments", needs=[ATTACHES, NETNS, V0_4])
def test_attachments_of_one_pod_name_are_apart(plugin: PluginUnderTest) -> None:
    """A pod that is made anew has the old one's name: the late DEL of the old must not hit it."""
    args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=refimpl;K8S_POD_NAME=web-0"
    first, second = plugin.attached(args=args), plugin.attached(args=args)
    fine = plugin.check(second).ok  # a CHECK that raises false alarms proves nothing
    before = plugin.host.snapshot().namespaces[second.netns]
    plugin.deleted(first)
    rule = "DEL of an attachment leaves another one with the same K8S_POD_NAME"
    with together() as check:
        with check:
            after = plugin.host.snapshot().namespaces[second.netns]
            expect(before == after, rule, wanted=before, got=after)
        with check:
            if fine:
                succeeded(plugin.check(second), f"{rule} as CHECK wants it")
