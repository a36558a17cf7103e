"""Named formats of texts: format.dns1123Label().validate(…) is none, or what is wrong.

Source: Kubernetes documentation, "CEL in Kubernetes", format library; apimachinery validation.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import ClassVar

import attrs

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.functions.network import url
from refimpl.dra.cel.functions.tables import Table
from refimpl.dra.cel.functions.times import timestamp
from refimpl.dra.cel.values import NONE, Optional
from refimpl.dra.patterns import LABEL, SUBDOMAIN, WORD

__all__ = ["FORMATS"]

_UUID = r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}"

Check = Callable[[str], list[str]]


@attrs.frozen(eq=False)
class Format:
    """A format by its name."""

    cel_type: ClassVar = "kubernetes.NamedFormat"

    name: str
    check: Check


def _shape(text: str, *, regex: str, most: int, what: str, prefix: bool = False) -> list[str]:
    """A prefix is what a name may begin with: its last dash stands for what follows."""
    name = f"{text[:-1]}a" if prefix and len(text) > 1 and text.endswith("-") else text
    too_long = [f"must be no more than {most} characters"] if len(name) > most else []
    return too_long + ([] if re.fullmatch(regex, name) else [f"must be {what}"])


_label = partial(_shape, regex=LABEL, most=63, what="a lowercase RFC 1123 label")
_subdomain = partial(_shape, regex=SUBDOMAIN, most=253, what="a lowercase RFC 1123 subdomain")
_label_1035 = partial(
    _shape, regex=r"[a-z](?:[-a-z0-9]*[a-z0-9])?", most=63, what="a DNS-1035 label"
)
_label_value = partial(_shape, regex=rf"(?:{WORD})?", most=63, what="empty or a label value")
_uuid = partial(_shape, regex=_UUID, most=36, what="a UUID")


def _qualified_name(text: str) -> list[str]:
    *prefix, name = text.split("/")
    if len(prefix) > 1:
        return ["must be a name with an optional DNS subdomain prefix and '/'"]
    wrong = [] if not prefix else _subdomain(prefix[0]) if prefix[0] else ["prefix is empty"]
    return wrong + _shape(name, regex=WORD, most=63, what="a qualified name")


def _read_by(read: Callable[[str], object], what: str) -> Check:
    def check(text: str) -> list[str]:
        try:
            read(text)
        except (EvaluationError, ValueError, binascii.Error):
            return [f"must be {what}"]
        return []

    return check


def _bytes(text: str) -> None:
    base64.b64decode(text, validate=True)


def _date(text: str) -> None:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        raise ValueError
    date.fromisoformat(text)


def _datetime(text: str) -> None:
    timestamp(text.upper() if text[10:11] == "t" else text)


_CHECKS: dict[str, Check] = {
    "dns1123Label": _label,
    "dns1123Subdomain": _subdomain,
    "dns1035Label": _label_1035,
    "qualifiedName": _qualified_name,
    "dns1123LabelPrefix": partial(_label, prefix=True),
    "dns1123SubdomainPrefix": partial(_subdomain, prefix=True),
    "dns1035LabelPrefix": partial(_label_1035, prefix=True),
    "labelValue": _label_value,
    "uri": _read_by(url, "a URI"),
    "uuid": _uuid,
    "byte": _read_by(_bytes, "base64"),
    "date": _read_by(_date, "a date, such as 2026-01-31"),
    "datetime": _read_by(_datetime, "a time, such as 2026-01-31T12:00:00Z"),
}
_NAMED = {name: Format(name, check) for name, check in _CHECKS.items()}


def _validate(format: Format, text: str) -> Optional:
    wrong = format.check(text)
    return Optional(wrong) if wrong else NONE


def _named(name: str) -> Optional:
    return Optional(_NAMED[name]) if name in _NAMED else NONE


def _constant(format: Format) -> Callable[[], Format]:
    return lambda: format


_F = Format.cel_type

FORMATS: Table = {
    **{f"format.{name}() {_F}": _constant(format) for name, format in _NAMED.items()},
    f"format.named(string) optional_type({_F})": _named,
    f"{_F}::validate(string) optional_type(list(string))": _validate,
}
