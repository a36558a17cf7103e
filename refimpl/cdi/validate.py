"""Judges a CDI document: every breach with its place. No input makes it raise."""

from __future__ import annotations

from typing import Any

import attrs

from refimpl.cdi import edits, names, versions
from refimpl.cdi.annotations import key_problem
from refimpl.cdi.findings import Finding, Findings
from refimpl.cdi.model import Spec, decode
from refimpl.cdi.rules import Policy
from refimpl.cdi.shape import read
from refimpl.documents import Document, DocumentError, json, yaml

# Keys and values together, in bytes (the bound of Kubernetes' annotations).
ANNOTATIONS_SIZE = 256 * 1024


@attrs.frozen
class Judgement:
    """What came of a document: its findings, and the specification if none of them is an error."""

    findings: tuple[Finding, ...]
    spec: Spec | None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings for which a loader refuses the document."""
        return tuple(finding for finding in self.findings if finding.level == "error")


def judge(data: bytes, *, name: str = "", policy: Policy = "practice") -> Judgement:
    """Reads a text as JSON where `name` ends in .json, else as YAML, and judges it."""
    findings = Findings(policy, name)
    try:
        document = _document(data, name, findings)
    except DocumentError as error:
        findings.add_error(error)
        return Judgement(findings.ordered(), None)
    return judge_document(document, findings)


def judge_document(document: Document, findings: Findings) -> Judgement:
    """Judges what a reader has read."""
    findings.document = document
    findings.add_notes(document)
    shaped = read(document.value, findings)
    if isinstance(document.value, dict):
        _versions(shaped, findings)
        _kind(shaped, findings)
        _annotations(shaped, (), findings)
        edits.check(shaped.get("containerEdits", {}), ("containerEdits",), findings)
        _devices(shaped, findings)
    spec = decode(shaped, Spec) if findings.sound else None
    return Judgement(findings.ordered(), spec)


def _document(data: bytes, name: str, findings: Findings) -> Document:
    """As the name says; but a .json file that is YAML is what the Go library reads."""
    if name.endswith(".json"):
        try:
            return json.parse(data, name=name)
        except DocumentError as error:
            try:
                document = yaml.parse(data, name=name)
            except DocumentError:
                raise error from None
            findings.document = document
            findings.add("not-json", (), f"the file is YAML, not JSON ({error.what})")
            return document
    if data.lstrip()[:1] == b"{":
        try:
            return json.parse(data, name=name)  # YAML that is JSON, at the speed of JSON
        except DocumentError:
            pass
    return yaml.parse(data, name=name)


def _versions(shaped: dict[str, Any], findings: Findings) -> None:
    declared = shaped.get("cdiVersion", "")
    if not declared:
        return
    pointer = ("cdiVersion",)
    if not versions.known(declared):
        findings.add("version-unknown", pointer, f"version {declared!r} is unknown")
        return
    if declared.startswith("v"):
        findings.add("version-prefix", pointer, f"version {declared!r} starts with a v")
    if not versions.at_least(declared, versions.FLOOR):
        findings.add("version-floor", pointer, f"version {declared} was never a release")
    for use in versions.uses(shaped, presence=True):
        since = use.feature.since
        if not versions.at_least(declared, since):
            rule = "version-presence" if use.empty else "version-minimum"
            text = f"{use.feature.what} needs version {since} at least, declared is {declared}"
            findings.add(rule, use.pointer, text, key=use.feature.field)


def _kind(shaped: dict[str, Any], findings: Findings) -> None:
    kind = shaped.get("kind", "")
    if not kind:
        return
    problem = names.kind_problem(kind)
    if problem:
        findings.add("kind", ("kind",), problem)
        return
    vendor, device_class = names.split_kind(kind)
    for rule, text in (
        ("vendor-dns", names.vendor_problem(vendor, strict=True)),
        ("class-length", names.class_problem(device_class, strict=True)),
    ):
        if text:
            findings.add(rule, ("kind",), text)


def _devices(shaped: dict[str, Any], findings: Findings) -> None:
    devices = findings.document.value.get("devices") if findings.document else None
    if not devices and (devices is None or isinstance(devices, list)):
        findings.add("no-devices", ("devices",), "the specification has no device")
    if not isinstance(devices, list):
        return
    names_seen: set[str] = set()
    for index, (raw, device) in enumerate(zip(devices, shaped["devices"], strict=True)):
        if isinstance(raw, dict):
            _device(device, index, names_seen, findings)


def _device(device: dict[str, Any], index: int, names_seen: set[str], findings: Findings) -> None:
    pointer = ("devices", index)
    _name(device.get("name", ""), (*pointer, "name"), names_seen, findings)
    _annotations(device, pointer, findings)
    container_edits = device.get("containerEdits", {})
    if not any(_counts(name, member) for name, member in container_edits.items()):
        text = f"device {device.get('name', '')!r} changes nothing"
        findings.add("empty-device", (*pointer, "containerEdits"), text)
    edits.check(container_edits, (*pointer, "containerEdits"), findings)


def _counts(name: str, member: Any) -> bool:
    return bool(member) or name == "intelRdt"


def _name(
    name: str, pointer: tuple[str | int, ...], names_seen: set[str], findings: Findings
) -> None:
    problem = names.device_problem(name)
    colon = names.device_problem(name, strict=True)
    if problem:
        findings.add("device-name", pointer, problem)
    elif colon:
        findings.add("device-colon", pointer, colon)
    if name in names_seen:
        findings.add("duplicate-device", pointer, f"device {name!r} is listed before")
    names_seen.add(name)


def _annotations(owner: dict[str, Any], pointer: tuple[str | int, ...], findings: Findings) -> None:
    annotations = owner.get("annotations", {})
    for key in annotations:
        problem = key_problem(key)
        if problem:
            findings.add("annotation-key", (*pointer, "annotations", key), problem, key=True)
    size = sum(len(text.encode()) for pair in annotations.items() for text in pair)
    if size > ANNOTATIONS_SIZE:
        text = f"the annotations have {size} bytes; at most {ANNOTATIONS_SIZE} are allowed"
        findings.add("annotation-size", (*pointer, "annotations"), text)
