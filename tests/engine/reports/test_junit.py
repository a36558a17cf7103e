"""JUnit that CI systems accept: their schemas, spelled out, and what they show."""

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from conformance.engine.reports import junit

# What junit-10 (Jenkins xUnit) and Windy Road's schema of Ant's format both allow:
# element -> attributes required, attributes allowed beside them, children in their order.
SHAPES: dict[str, tuple[set[str], set[str], str]] = {
    "testsuites": (set(), set(), r"(testsuite )*"),
    "testsuite": (
        {"name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "time"},
        {"skipped"},
        r"properties (testcase )*system-out system-err ",
    ),
    "properties": (set(), set(), r"(property )*"),
    "property": ({"name", "value"}, set(), ""),
    "testcase": ({"name", "classname", "time"}, set(), r"((skipped|error|failure) )?"),
    "skipped": (set(), {"message"}, ""),
    "error": ({"type"}, {"message"}, ""),
    "failure": ({"type"}, {"message"}, ""),
    "system-out": (set(), set(), ""),
    "system-err": (set(), set(), ""),
}


def check(element: ET.Element) -> None:
    """Asserts that an element and all below it are of those shapes."""
    required, allowed, children = SHAPES[element.tag]
    assert required <= set(element.keys()) <= required | allowed
    assert re.fullmatch(children, "".join(f"{child.tag} " for child in element))
    for child in element:
        check(child)


def case_of(root: ET.Element, id: str) -> ET.Element:
    return next(c for c in root.iter("testcase") if c.get("name", "").startswith(id))


@pytest.mark.parametrize("end", [0, 1, 2, 3, 4, 5, 6, None])
def test_every_report_fits_the_schemas(sample: Any, end: int | None) -> None:
    """Jenkins drops a file that does not validate, and the job looks untested."""
    check(ET.fromstring(junit(sample(end=end))))
    check(ET.fromstring(junit(sample(end=end, only=[]))))


def test_numbers_are_those_of_the_cases(sample: Any) -> None:
    """CI systems show the attributes, not what they count themselves."""
    suite = ET.fromstring(junit(sample(end=1, passed=10)))[0]
    numbers = {name: len(list(suite.iter(name))) for name in ("failure", "error", "skipped")}
    assert (suite.get("failures"), suite.get("errors")) == ("5", "1")
    assert (numbers["failure"], numbers["error"], numbers["skipped"]) == (5, 1, 6)
    assert int(suite.get("tests", "0")) == len(list(suite.iter("testcase"))) == 28
    assert suite.get("timestamp") == "2025-10-09T08:53:20"


def test_a_case_is_filed_under_interface_and_section(sample: Any, case: Any) -> None:
    """Jenkins splits a class name at its last dot, so that there may be one only."""
    named = case(3, section="6.2 Volumes v1.13 and others")
    root = ET.fromstring(junit(sample(end=0, only=[named])))
    assert case_of(root, "CSI-CTRL-003").attrib == {
        "classname": "csi.Volumes v1 13 and others",
        "name": "CSI-CTRL-003 deleting a volume that is gone succeeds",
        "time": "0.004",
    }


def test_a_failure_tells_all_there_is_in_its_text(sample: Any, case: Any) -> None:
    """GitLab shows the text of an element, Jenkins its message first."""
    root = ET.fromstring(junit(sample(end=1, only=[case(1, "fail")])))
    failure = case_of(root, "CSI-LV-001").find("failure")
    assert failure is not None
    assert failure.get("message") == "the same name and parameters give the volume that is there"
    text = failure.text or ""
    for told in (
        "level:  MUST",
        "source: CSI 1.13 ListVolumes",
        "wanted: volume_id vol-1",
        "got:    volume_id vol-2",
        "  DeleteVolume() -> INVALID_ARGUMENT: volume id is empty (12 ms)",
        "replay: refimpl test csi",
        "last call: grpcurl -plaintext",
    ):
        assert told in text


def test_warnings_and_known_failures_are_skips_that_say_what_they_are(sample: Any) -> None:
    """JUnit knows no warning, and a failure would fail the job."""
    root = ET.fromstring(junit(sample(passed=0)))
    messages = [skipped.get("message") for skipped in root.iter("skipped")]
    assert "warning: an error tells which field was wrong" in messages
    assert "known failure: the lock is lost on restart (rule 4)" in messages
    assert "CREATE_DELETE_SNAPSHOT is not advertised" in messages


def test_level_and_source_are_properties_of_the_suite(sample: Any, case: Any) -> None:
    """No schema allows properties on a testcase."""
    root = ET.fromstring(junit(sample(end=0, only=[case(1, level="SHOULD")])))
    numbers = {p.get("name"): p.get("value") for p in root.iter("property")}
    assert numbers["CSI-LV-001.level"] == "SHOULD"
    assert numbers["CSI-LV-001.source"] == "CSI 1.13 ListVolumes"
    assert numbers["revision"] == "csi-1.13"


def test_a_run_without_a_verdict_is_an_error(sample: Any, case: Any) -> None:
    """A killed run whose first cases passed must not turn a job green."""
    for end in (2, 6, None):
        suite = ET.fromstring(junit(sample(end=end, only=[case(1)])))[0]
        assert suite.get("errors") == "1"
        error = case_of(suite, "the run").find("error")
        assert error is not None
        assert error.get("message", "").startswith(("Unfinished", "Interrupted"))


def test_an_outdated_expectation_is_an_error(sample: Any, case: Any) -> None:
    """The run fails with exit code 1 though every case passes."""
    stream = sample(end=1, only=[case(1)], message="CSI-X-001 matched nothing")
    error = case_of(ET.fromstring(junit(stream)), "the run").find("error")
    assert error is not None
    assert "CSI-X-001 matched nothing" in (error.text or "")


def test_a_verdict_that_cases_show_needs_no_error_beside_them(sample: Any, case: Any) -> None:
    """One failure is one failure."""
    suite = ET.fromstring(junit(sample(end=1, only=[case(1, "fail")])))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")


def test_hostile_text_stays_text(sample: Any) -> None:
    """The report holds what a target said, made harmless, and can be read back."""
    text = junit(sample())
    assert not re.search("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    failure = case_of(ET.fromstring(text), "CSI-CTRL-006").find("failure")
    assert failure is not None
    assert r"<script>alert('x')</script>" in (failure.text or "")
    assert r"\x1b[31mred\x1b[0m" in (failure.text or "")
    assert len(failure.get("message", "")) <= 500


def test_each_interface_of_a_run_over_all_has_its_suite(sample: Any, case: Any) -> None:
    """A runtime team looks for CRI, not for a heap."""
    cases = [case(1), case(2, id="CRI-SB-001")]
    root = ET.fromstring(junit(sample(end=0, interface="all", only=cases)))
    check(root)
    assert [suite.get("name") for suite in root] == ["csi", "cri"]
