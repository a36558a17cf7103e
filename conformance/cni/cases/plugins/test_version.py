"""VERSION, what a runtime asks before anything else, and the versions that follow from it."""

from __future__ import annotations

from typing import Any

from conformance.cni.needs import ATTACHES, V1_0, V1_1
from conformance.cni.plugins.failures import attempt, refused
from conformance.cni.plugins.outcomes import result_of, succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect, should, together
from refimpl.cni import contract
from refimpl.cni.contract import Kind, Problem, Verb
from refimpl.cni.execute import PLAIN, Conditions, Outcome

_DUMMY = "dummy"  # what the Go library sets the variables to that VERSION does not need


def _asked(plugin: PluginUnderTest, version: str) -> Outcome:
    return plugin.run(plugin.request(Verb.VERSION, None, {"cniVersion": version}))


def _spoken(plugin: PluginUnderTest) -> list[str]:
    """The advertised versions that ADD can be asked for in; chaining came with 0.3.0."""
    first = "0.3.0" if plugin.kind == "chained" else "0.1.0"
    return [v for v in contract.VERSIONS if v in plugin.versions and contract.at_least(v, first)]


@case("CNI-PLG-001", "CNI 1.1 VERSION")
def test_version_is_answered_for_every_version_asked_with(plugin: PluginUnderTest) -> None:
    """Runtimes probe with the version they prefer; one without an answer never gets a pod."""
    with together() as check:
        for version in contract.VERSIONS[1:]:
            with check:
                rule = f"VERSION with cniVersion {version} has to be answered"
                answer = result_of(_asked(plugin, version), rule)
                problems = contract.version_problems(answer, version)
                wrong = [str(each) for each in problems if each.kind is not Kind.VERSION]
                expect(not wrong, rule, wanted="cniVersion and supportedVersions", got=wrong)


@case("CNI-PLG-002", "CNI 1.1 VERSION success", needs=[V1_0])
def test_version_answers_in_the_version_asked_with(plugin: PluginUnderTest) -> None:
    """A runtime reads the answer as a document of the version it used."""
    with together() as check:
        for version in _spoken(plugin):
            if not contract.at_least(version, "1.0.0"):
                continue
            accepted = {version}
            if plugin.settings.policy == "practice":
                accepted.add(plugin.newest)  # the Go library answers in its own newest version
            with check:
                answer = result_of(_asked(plugin, version), "VERSION has to be answered")
                expect(
                    answer.get("cniVersion") in accepted,
                    f"cniVersion of the answer is that of the question, {version}",
                    wanted=" or ".join(sorted(accepted)),
                    got=answer.get("cniVersion"),
                )


@case("CNI-PLG-003", "practice: the Go library does not read stdin for VERSION")
def test_version_needs_no_document(plugin: PluginUnderTest) -> None:
    """Old runtimes and people at a prompt ask with nothing on stdin, or without a stdin."""
    variants = [
        ("an empty stdin", b"", PLAIN),
        ("garbage on stdin", b"\x00 no JSON", PLAIN),
        ("a closed stdin", b"", Conditions(closed=frozenset({0}))),
    ]
    with together() as check:
        for name, stdin, conditions in variants:
            outcome = plugin.run(plugin.request(Verb.VERSION, None, stdin), conditions=conditions)
            with check:
                answer = result_of(outcome, f"VERSION with {name} is answered")
                expect(
                    answer.get("supportedVersions"),
                    f"VERSION with {name} tells the versions",
                    wanted="supportedVersions",
                    got=answer,
                )


@case("CNI-PLG-004", "CNI 1.1 VERSION")
def test_version_has_no_effect_and_needs_no_other_variable(plugin: PluginUnderTest) -> None:
    """Runtimes ask at any time; the Go library fills what VERSION does not need with a word."""
    request = plugin.request(Verb.VERSION, None, {"cniVersion": plugin.newest})
    words = {"CNI_NETNS": _DUMMY, "CNI_IFNAME": _DUMMY, "CNI_PATH": _DUMMY}
    bare = request.with_env(CNI_PATH=None)
    before = plugin.state()
    with together() as check:
        for name, each in (("CNI_COMMAND alone", bare), ("dummy words", bare.with_env(**words))):
            with check:
                succeeded(plugin.run(each), f"VERSION with {name} has to be answered")
            with check:
                changed = before.difference(plugin.state())
                expect(
                    not changed,
                    f"VERSION with {name} changes nothing",
                    wanted="no difference",
                    got=changed,
                )


@case("CNI-PLG-005", "CNI 1.1 VERSION success")
def test_the_supported_versions_are_a_clean_list(plugin: PluginUnderTest) -> None:
    """Runtimes pick from it; a version nobody released makes them pick nothing."""
    answer = result_of(_asked(plugin, plugin.newest), "VERSION has to be answered")
    listed = answer.get("supportedVersions") or []
    keys = [_key(each) for each in listed]
    rule = "supportedVersions lists released versions once each, oldest first"
    expect(keys, rule, wanted="a list of versions", got=listed)
    with together() as check:
        with check:
            expect(keys == sorted(set(keys)), rule, wanted="ascending, none twice", got=listed)
        for version, key in zip(listed, keys, strict=True):
            known = version in contract.VERSIONS or key > contract.version_key(contract.LATEST)
            with check:
                expect(known, rule, wanted="versions that were released", got=version)


def _key(version: Any) -> tuple[int, int, int]:
    try:
        return contract.version_key(version or "none")
    except (ValueError, TypeError):
        rule = "supportedVersions lists versions of three numbers"
        raise Broken(rule, "such as 1.1.0", str(version)) from None


@case("CNI-PLG-006", "CNI 1.1 ADD success", needs=[ATTACHES])
def test_add_answers_in_the_shape_of_the_version_asked_for(plugin: PluginUnderTest) -> None:
    """A runtime reads the result as the version of the network, whatever the plugin prefers.

    Members of another version inside the entries are a requirement of their own.
    """
    with together() as check:
        for version in _spoken(plugin):
            pod = plugin.pod()
            with check:
                result = plugin.added(pod, plugin.config(version))
                problems = contract.problems(result, version, ipam=plugin.kind == "ipam")
                wrong = [str(each) for each in problems if _shapes(each)]
                rule = f"the result of an ADD in version {version} has the shape of that version"
                expect(not wrong, rule, wanted=f"a result of {version}", got=wrong)
                more = [str(each) for each in problems if _beside(each)]
                should(not more, f"{rule}, and no more", wanted=f"a result of {version}", got=more)
            plugin.delete(pod)


def _shapes(problem: Problem) -> bool:
    """Whether it is about types, or what must be there."""
    return problem.kind in (Kind.TYPE, Kind.MISSING, Kind.VERSION, Kind.SPELLING)


def _beside(problem: Problem) -> bool:
    """Whether it is about a member of the result itself that another version has."""
    return problem.kind is Kind.FOREIGN and problem.pointer.count("/") == 1


@case("CNI-PLG-007", "CNI 1.1 Error, code 1")
def test_a_version_that_is_not_supported_is_refused(plugin: PluginUnderTest) -> None:
    """A plugin that guesses at a configuration of the future sets up something else.

    A text that is no version at all may be told as a decoding failure too (code 6). Without a
    version the configuration is one of 0.1.0.
    """
    with together() as check:
        for version, codes in (("9.9.9", {1}), ("1.0", {1, 6}), ("1.1.0-rc1", {1, 6})):
            outcome = attempt(plugin, plugin.config(version))
            with check:
                refused(outcome, codes, f"a configuration of cniVersion {version!r} is refused")
        outcome = attempt(plugin, plugin.config() | {"cniVersion": ""})
        with check:
            if "0.1.0" in plugin.versions:
                expect(
                    outcome.ok or not outcome.error or outcome.error.code != 1,
                    "an empty cniVersion means 0.1.0, which the plugin supports",
                    wanted="no failure with code 1",
                    got=outcome.brief(),
                )
            else:
                refused(
                    outcome,
                    {1},
                    "an empty cniVersion means 0.1.0, which the plugin does not support",
                )
        with check:
            _both_sides(plugin, attempt(plugin, plugin.config("9.9.9")))


def _both_sides(plugin: PluginUnderTest, outcome: Outcome) -> None:
    error = outcome.error
    words = f"{error.msg} {error.details}" if error else ""
    should(
        "9.9.9" in words and plugin.newest in words,
        "the refusal names the version of the configuration and those of the plugin",
        wanted=f"9.9.9 and {plugin.newest}",
        got=words,
    )


@case("CNI-PLG-008", "CNI 1.1 GC, STATUS", needs=[V1_1])
def test_a_plugin_of_1_1_knows_gc_and_status(plugin: PluginUnderTest) -> None:
    """Runtimes call both once a plugin advertises 1.1.0, and report what it answers."""
    with together() as check:
        for verb, outcome in (("STATUS", plugin.status()), ("GC", plugin.gc([]))):
            error = None if outcome.ok else outcome.error
            with check:
                expect(
                    outcome.ok or (error and error.code not in (1, 4)),
                    f"a plugin that advertises 1.1.0 knows {verb}",
                    wanted="success, or a failure other than code 1 or 4",
                    got=outcome.brief(),
                )
