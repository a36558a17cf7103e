"""Known failures of a real target: a strict list, so that it cannot rot.

```toml
target = "csi-driver-host-path"
include = ["shared"]      # optional: files beside this one, or of ours, whose entries hold as well
[[known]]
id = "CSI-LV-006"
reason = "a negative max_entries lists everything"
rule = "CSI 1.12 ListVolumes: max_entries must not be negative"
link = "https://…"        # optional
versions = ">=1.17"       # optional, compared with the version the target tells
revisions = ">=1.1"       # optional, compared with the revision it is judged by
sometimes = true          # optional: depends on timing, so that it may pass as well
```
"""

from __future__ import annotations

import operator
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from conformance.engine import fixtures
from conformance.engine.options import BadOption
from refimpl import files

_COMPARE = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


class Known(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One failure that is expected, and why we hold the target to be wrong."""

    id: str
    reason: str
    rule: str
    link: str = ""
    versions: str = ""
    revisions: str = ""
    sometimes: bool = False


class _File(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    target: str
    include: list[str] = []
    known: list[Known] = []


def load(paths: Iterable[Path], version: str = "", revision: str = "") -> dict[str, Known]:
    """The entries of the files, and of what they include, that hold for a target, by case id.

    Raises BadOption with the file's name for what cannot be read or says one id twice.
    """
    entries: dict[str, Known] = {}
    for path, entry in _entries(paths, set()):
        try:
            ranges = ((entry.versions, version), (entry.revisions, revision))
            holds = [applies(wanted, value) for wanted, value in ranges]
        except BadOption as error:
            raise BadOption(f"--expect {path}: {entry.id}: {error}") from error
        if not all(holds):
            continue
        if entry.id in entries:
            raise BadOption(f"{path}: {entry.id} is listed twice; keep one entry a case")
        entries[entry.id] = entry
    return entries


def _entries(paths: Iterable[Path], seen: set[Path]) -> Iterator[tuple[Path, Known]]:
    """Every entry with its file. A file counts once, however many others include it."""
    for path in paths:
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        file = _read(path)
        yield from _entries([_included(name, path) for name in file.include], seen)
        for entry in file.known:
            yield path, entry


def _included(name: str, by: Path) -> Path:
    """The file of that name beside the one that includes it, or of ours."""
    places = (by.parent / name, by.parent / f"{name}.toml", fixtures.locate(name, "expectations"))
    for place in places:
        if place.is_file():
            return place
    raise BadOption(f"--expect {by}: include {name}: neither beside it nor of ours; mend the name")


def _read(path: Path) -> _File:
    try:
        return msgspec.convert(tomllib.loads(files.read(path).decode()), _File)
    except OSError as error:
        raise BadOption(f"--expect {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise BadOption(f"--expect {path}: {error}") from error


def applies(versions: str, version: str) -> bool:
    """Whether `version` lies in a range such as `>=1.17,<2`; no range and no version match all.

    Of both only the numbers count, so that `v1.17.0` and `cni-1.1.0` may be told, too.
    """
    if not versions:
        return True
    # Judged without a version, too: a wrong range is to be said before the run.
    conditions = [_condition(part.strip()) for part in versions.split(",")]
    return not version or all(
        _COMPARE[sign](_numbers(version), _numbers(bound)) for sign, bound in conditions
    )


def _condition(text: str) -> tuple[str, str]:
    match = re.fullmatch(r"(>=|<=|==|!=|>|<)\s*(\d\S*)", text)
    if not match:
        raise BadOption(f"versions {text!r}: write a range such as >=1.17,<2")
    return match[1], match[2]


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(number) for number in re.findall(r"\d+", version)[:4]]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
