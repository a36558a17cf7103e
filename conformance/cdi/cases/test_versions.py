"""Versions: what a document may declare, and what it has to declare for what it uses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conformance.cdi.documents import VERSIONS, document
from conformance.cdi.features import FEATURES, VersionFeature, combined, needed
from conformance.cdi.host import CdiHost
from conformance.cdi.judging import advised, judged
from conformance.cdi.needs import LOAD, MINIMUM, WRITE
from conformance.engine.case import PROPERTY, case
from conformance.engine.properties import examples
from conformance.engine.verdict import expect, together


@case("CDI-002", "CDI Specification version", needs=[LOAD])
def test_every_version_loads_and_nothing_else_does(host: CdiHost) -> None:
    """A reader that guesses at a version it does not know leaves edits out."""
    missing = document()
    del missing["cdiVersion"]
    with together() as check:
        with check:
            judged(
                host,
                "cdiVersion is REQUIRED and a version of the specification",
                taken={version: document(version=version) for version in VERSIONS},
                refused={
                    **{
                        text or "empty": document(version=text)
                        for text in ("9.9.9", "0.9.0", "0.6", "")
                    },
                    "missing": missing,
                },
            )
        prefixed = {"v0.6.0": document(version="v0.6.0")}
        if host.settings.policy == "practice":
            with check:
                judged(host, "a leading v is tolerated", taken=prefixed)
        else:
            with check:
                advised(host, "cdiVersion MUST be in Semantic Version 2.0", refused=prefixed)


@case("CDI-003", "practice: the Go library", needs=[LOAD])
def test_versions_before_the_first_release_are_refused(host: CdiHost) -> None:
    """They had names, but no text: nobody knows what such a document means."""
    early = {version: document(version=version) for version in ("0.1.0", "0.2.0")}
    judged(host, "0.3.0 is the first version", refused=early)


@case("CDI-004", "CDI Released versions", needs=[LOAD])
def test_a_feature_is_refused_under_the_version_before_it(host: CdiHost) -> None:
    """Readers of that version refuse or ignore it: the same file means two things."""
    refused = {f"{each.label} at {each.before}": each.document(each.before) for each in FEATURES}
    refused |= {
        f"{each.label} of the file at {each.before}": each.document(each.before, of_spec=True)
        for each in FEATURES
        if each.edits
    }
    judged(host, "what came with a version needs that version at least", refused=refused)


@case("CDI-005", "CDI Released versions", needs=[LOAD])
def test_a_feature_loads_under_its_own_version(host: CdiHost) -> None:
    """What a version has, its readers take."""
    taken = {f"{each.label} at {each.since}": each.document(each.since) for each in FEATURES}
    taken |= {
        f"{each.label} of the file at {each.since}": each.document(each.since, of_spec=True)
        for each in FEATURES
        if each.edits
    }
    judged(host, "a version has what came with it", taken=taken)


def _rdt(version: str, **members: object) -> dict[str, object]:
    return document(version=version, edits={"intelRdt": {"closID": "refimpl", **members}})


@case("CDI-007", "CDI Released versions", needs=[LOAD])
def test_switches_of_intel_rdt_end_with_version_1_1_0(host: CdiHost) -> None:
    """A file of 1.0.0 that used them is as valid as on the day it was written."""
    switches = {
        f"{name} at {version}": _rdt(version, **{name: True})
        for name in ("enableCMT", "enableMBM")
        for version in ("0.7.0", "1.0.0", "1.1.0")
    }
    gone = {label: each for label, each in switches.items() if label.endswith("1.1.0")}
    if host.settings.policy == "practice":
        judged(host, "the library knows them no more, whatever the version", refused=switches)
        return
    kept = {label: each for label, each in switches.items() if label not in gone}
    judged(host, "0.7.0 brought them and 1.1.0 removed them", taken=kept, refused=gone)


@case("CDI-008", "CDI Released versions", needs=[LOAD])
def test_a_new_member_is_refused_under_an_old_version_even_if_it_says_nothing(
    host: CdiHost,
) -> None:
    """A reader of 1.0.0 refuses the name, whatever its value."""
    documents = {"enableMonitoring: false at 1.0.0": _rdt("1.0.0", enableMonitoring=False)}
    if host.settings.policy == "practice":
        judged(host, "the library looks at values", taken=documents)
    else:
        judged(host, "enableMonitoring needs 1.1.0 at least", refused=documents)


@PROPERTY
@case("CDI-059", "CDI Released versions", needs=[LOAD])
def test_what_is_taken_under_a_version_is_taken_under_every_later_one(host: CdiHost) -> None:
    """A vendor that declares a higher version than needed loses nothing, and a file that was
    written, read and written again is the same.
    """

    @examples(8, host.seed)
    @given(features=st.lists(st.sampled_from(FEATURES), max_size=3, unique=True))
    def check(features: list[VersionFeature]) -> None:
        lowest = needed(features)
        for version in VERSIONS:
            why = host.refusal(combined(features, version))
            early = VERSIONS.index(version) < VERSIONS.index(lowest)
            used = ", ".join(each.label for each in features) or "nothing new"
            rule = "from the version on that a document needs it loads, and not before"
            got = f"{used} at {version}: {why or 'taken'}"
            expect(bool(why) == early, rule, wanted=f"{lowest} at least", got=got)
        _told(host, features, lowest)
        _written(host, features)

    check()


def _told(host: CdiHost, features: list[VersionFeature], lowest: str) -> None:
    """An implementation that tells the minimum version tells the one it holds to."""
    if not host.can(MINIMUM):
        return
    reply = host.ask("minimum", document=combined(features, VERSIONS[-1]))
    rule = "the minimum version is that of the newest feature used"
    expect(reply.get("version") == lowest, rule, wanted=lowest, got=reply)


def _written(host: CdiHost, features: list[VersionFeature]) -> None:
    """One that writes files reads in them what it has written."""
    if not host.can(WRITE):
        return
    first = host.rendered(combined(features, VERSIONS[-1]))
    again = host.rendered(first)
    rule = "a document that is written, read and written is the same"
    expect(first == again == combined(features, VERSIONS[-1]), rule, wanted=first, got=again)
