"""Known failures of a real target: a strict list, so that it cannot rot.

```toml
target = "csi-driver-host-path"
[[known]]
id = "CSI-LV-006"
reason = "a negative max_entries lists everything"
rule = "CSI 1.12 ListVolumes: max_entries must not be negative"
link = "https://…"        # optional
versions = ">=1.17"       # optional, compared with the version the target tells
```
"""

from __future__ import annotations

import operator
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from conformance.engine.options import BadOption

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


class _File(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    target: str
    known: list[Known] = []


def load(paths: Iterable[Path], version: str = "") -> dict[str, Known]:
    """The entries of the files that hold for `version`, by case id.

    Raises BadOption with the file's name for what cannot be read or says one id twice.
    """
    found: dict[str, Known] = {}
    for path in paths:
        for entry in _read(path).known:
            try:
                if not applies(entry.versions, version):
                    continue
            except BadOption as error:
                raise BadOption(f"--expect {path}: {entry.id}: {error}") from error
            if entry.id in found:
                raise BadOption(f"{path}: {entry.id} is listed twice; keep one entry a case")
            found[entry.id] = entry
    return found


def _read(path: Path) -> _File:
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), _File)
    except OSError as error:
        raise BadOption(f"--expect {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise BadOption(f"--expect {path}: {error}") from error


def applies(versions: str, version: str) -> bool:
    """Whether `version` lies in a range such as `>=1.17,<2`; no range and no version match all."""
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
