"""Files with objects of resource.k8s.io: what is wrong in them, and in which line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs

from refimpl.documents import Document, yaml
from refimpl.dra.shape import shaped
from refimpl.dra.validation.gates import ALPHA, Gates
from refimpl.dra.validation.objects import KINDS, validate

__all__ = ["Finding", "judged", "objects"]

_GROUP = "resource.k8s.io/"
_BETWEEN = re.compile(rb"^---(?=\s|$)", re.M)

Steps = tuple[str | int, ...]


@attrs.frozen
class Finding:
    """field and reason as an API server gives them; a warning is what it takes, but leaves out."""

    path: str
    line: int
    column: int
    level: Literal["error", "warning"]
    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}"
        return f"{place}: {self.level}: {self.field}: {self.message} ({self.reason})"


def judged(
    data: bytes, path: str, *, gates: Gates, admin_access: bool = False
) -> tuple[int, list[Finding]]:
    """How many objects there are in a file of YAML or JSON, lists and several documents included,
    and what is wrong with them. Raises DocumentError."""
    return _judged(_parsed(data, path), path, gates, admin_access)


def _parsed(data: bytes, path: str) -> list[Document]:
    return [yaml.parse(text, name=path) for text in _documents(data)]


def _judged(
    documents: list[Document], path: str, gates: Gates, admin_access: bool
) -> tuple[int, list[Finding]]:
    count, findings = 0, []
    for document in documents:
        for steps, object in _objects(document.value, ()):
            count += 1
            judge = _Judge(path, document, steps)
            findings += judge.findings(object, gates, admin_access)
    return count, sorted(findings, key=lambda each: (each.line, each.column))


def objects(data: bytes, path: str) -> list[Mapping[str, Any]]:
    """All objects of a file, of any kind; those of the group with their quantities as texts. Raises
    DocumentError, and ValueError for what is misshapen or would be refused."""
    documents = _parsed(data, path)
    _, findings = _judged(documents, path, ALPHA, admin_access=True)
    wrong = next((each for each in findings if each.level == "error"), None)
    if wrong is not None:
        raise ValueError(str(wrong))
    found: list[Mapping[str, Any]] = []
    for document in documents:
        value = document.value
        items = value.get("items") if isinstance(value, Mapping) else None
        for each in items if isinstance(items, list) else [value]:
            if isinstance(each, Mapping):
                own = str(each.get("apiVersion", "")).startswith(_GROUP)
                found.append(shaped(each)[0] if own else each)
    return found


def _documents(data: bytes) -> Iterator[bytes]:
    """Each document of a file, with as many empty lines before it as it has lines there."""
    starts = [0, *(match.end() for match in _BETWEEN.finditer(data))]
    ends = [*(match.start() for match in _BETWEEN.finditer(data)), len(data)]
    for start, end in zip(starts, ends, strict=True):
        if _has_content(data[start:end]) or len(starts) == 1:
            yield b"\n" * data.count(b"\n", 0, start) + data[start:end]


def _has_content(text: bytes) -> bool:
    return any(line.strip() and not line.lstrip().startswith(b"#") for line in text.splitlines())


def _objects(value: Any, steps: Steps) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """The objects of the group in a document, which may be a list of them."""
    if not isinstance(value, Mapping):
        return
    if isinstance(value.get("items"), list):
        for index, item in enumerate(value["items"]):
            yield from _objects(item, (*steps, "items", index))
    elif str(value.get("apiVersion", "")).startswith(_GROUP):
        yield steps, value


@attrs.frozen
class _Judge:
    path: str
    document: Document
    steps: Steps

    def findings(
        self, object: Mapping[str, Any], gates: Gates, admin_access: bool
    ) -> list[Finding]:
        """All of one object; where its shape is wrong only that."""
        kind, version = str(object.get("kind", "")), str(object["apiVersion"])
        wanted = "v1alpha3" if kind == "ResourcePoolStatusRequest" else "v1"
        if kind not in KINDS:
            known = ", ".join(KINDS)
            return [self._finding(("kind",), "NotFound", f"{kind!r} is not one of {known}")]
        if version != _GROUP + wanted:
            message = f"{version} is not judged: write it as {_GROUP}{wanted}"
            return [self._finding(("apiVersion",), "NotFound", message)]
        shown, misshapen = shaped(object)
        told = [
            self._finding(
                each.steps,
                "UnknownField" if each.unknown else "BadRequest",
                each.message,
                "warning" if each.unknown else "error",
            )
            for each in misshapen
        ]
        if any(not each.unknown for each in misshapen):
            return told
        problems = validate(shown, gates=gates, admin_access=admin_access)
        return told + [
            self._finding(each.steps, each.reason.value, each.message, field=each.field)
            for each in problems
        ]

    def _finding(
        self,
        steps: Steps,
        reason: str,
        message: str,
        level: Literal["error", "warning"] = "error",
        field: str = "",
    ) -> Finding:
        line, column = self.document.key_position((*self.steps, *steps))
        return Finding(self.path, line, column, level, field or _path(steps), reason, message)


def _path(steps: Steps) -> str:
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return path.removeprefix(".")
