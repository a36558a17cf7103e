"""JUnit XML for CI systems: a suite an interface, a testcase a case.

Keeps to what both schemas in use allow (the xUnit plugin's junit-10 and Ant's as written down by
Windy Road): one result an element, properties on suites only. Jenkins drops files that do not.
"""

from __future__ import annotations

import datetime
import xml.etree.ElementTree as ET
from collections.abc import Iterable

from conformance.engine.events import CaseDone, Event, Outcome
from conformance.engine.options import CONFORMANT, NOT_CONFORMANT
from conformance.engine.reports.calls import Call
from conformance.engine.reports.conclusion import conclude, facts, tally
from conformance.engine.reports.digest import RED, Digest, also
from conformance.engine.reports.text import capped, heading, one_line

# Element and kind of each outcome that is no pass. JUnit knows no warning: a skip whose message
# says so is what GitLab and Jenkins show without failing the job.
_ELEMENTS: dict[Outcome, tuple[str, str]] = {
    "fail": ("failure", "requirement"),
    "error": ("error", "suite"),
    "xpass": ("failure", "unexpected pass"),
    "warn": ("skipped", "warning"),
    "xfail": ("skipped", "known failure"),
    "skip": ("skipped", "not applicable"),
}
_LONGEST_MESSAGE, _LONGEST_TEXT, _LONGEST_CALL = 500, 20_000, 1_000


def junit(stream: Iterable[Event]) -> str:
    """The report. A run that came to no verdict adds an error, so that it never looks green."""
    digest = Digest.of(stream)
    root = ET.Element("testsuites")
    groups: dict[str, list[CaseDone]] = {}
    for done in digest.cases:
        groups.setdefault(digest.interface(done), []).append(done)
    lacking = _lacking(digest)
    if lacking and not groups:
        groups[digest.run.interface or "all"] = []
    for number, (interface, cases) in enumerate(groups.items()):
        root.append(_suite(digest, interface, cases, number, lacking if number == 0 else ""))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _lacking(digest: Digest) -> str:
    """Why the run itself is an error: it failed, or never ended, and no case shows that."""
    code = digest.end.exit_code if digest.end else None
    shown = digest.having(*RED) and code == NOT_CONFORMANT
    if code == CONFORMANT or shown:
        return ""
    conclusion = conclude(digest)
    return f"{conclusion.sentence}. {conclusion.note}".strip()


def _suite(
    digest: Digest, interface: str, cases: list[CaseDone], number: int, lacking: str
) -> ET.Element:
    suite = ET.Element("testsuite", name=interface, package=interface, id=str(number))
    elements = [_ELEMENTS[done.outcome][0] for done in cases if done.outcome != "pass"]
    suite.set("timestamp", _timestamp(digest.run.started))
    suite.set("hostname", "localhost")
    suite.set("tests", str(len(cases) + bool(lacking)))
    suite.set("failures", str(elements.count("failure")))
    suite.set("errors", str(elements.count("error") + bool(lacking)))
    suite.set("skipped", str(elements.count("skipped")))
    suite.set("time", f"{sum(done.duration_s for done in cases):.3f}")
    _properties(suite, digest, cases)
    for done in cases:
        suite.append(_testcase(digest, done, interface))
    if lacking:
        case = ET.SubElement(suite, "testcase", classname=interface, name="the run", time="0.000")
        ET.SubElement(case, "error", type="run", message=_message(lacking)).text = lacking
    ET.SubElement(suite, "system-out").text = f"{conclude(digest).sentence} ({tally(digest)})"
    ET.SubElement(suite, "system-err").text = lacking
    return suite


def _properties(suite: ET.Element, digest: Digest, cases: list[CaseDone]) -> None:
    """The facts of the run, then level and source of each case: a testcase may hold none."""
    properties = ET.SubElement(suite, "properties")
    named = [(name.lower(), value) for name, value in facts(digest)]
    for done in cases:
        named += [(f"{done.id}.level", done.level), (f"{done.id}.source", done.source)]
    for name, value in named:
        ET.SubElement(properties, "property", name=one_line(name), value=one_line(value))


def _testcase(digest: Digest, done: CaseDone, interface: str) -> ET.Element:
    # Jenkins takes what stands before the last dot for a package, so a section may hold none.
    section = f".{heading(done.section).replace('.', ' ')}" if done.section else ""
    case = ET.Element(
        "testcase",
        classname=f"{interface}{section}",
        name=one_line(f"{done.id} {done.title}"),
        time=f"{done.duration_s:.3f}",
    )
    if done.outcome != "pass":
        name, kind = _ELEMENTS[done.outcome]
        shown = (done.message or done.title).removeprefix("known: ")
        message = shown if done.outcome in ("fail", "skip") else f"{kind}: {shown}"
        result = ET.SubElement(case, name, message=_message(message))
        if name != "skipped":  # Ant's schema has no type there
            result.set("type", kind)
        result.text = capped(_text(digest, done), _LONGEST_TEXT)
    return case


def _text(digest: Digest, done: CaseDone) -> str:
    """All there is to say, for systems that show the text of an element and not its message."""
    named = [
        ("", done.message),
        ("level:  ", done.level),
        ("source: ", done.source),
        ("why:    ", one_line(done.why)),
        ("wanted: ", done.wanted),
        ("got:    ", done.got),
        *((f"{label}:".ljust(8), text) for label, text in also(done)),
    ]
    lines = [f"{name}{value}" for name, value in named if value]
    if done.calls:
        lines.append("calls:")
        lines += [f"  {call.line(_LONGEST_CALL)}" for call in Call.last(done)]
    lines += [f"{label}: {line}" for label, line in digest.repeats(done)]
    return "\n".join(lines)


def _message(text: str) -> str:
    return one_line(text, _LONGEST_MESSAGE)


def _timestamp(epoch: float) -> str:
    # Ant's schema wants no zone.
    return datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")
