"""Names of CDI: `vendor/class=device`, by the rule of the Go library and by the specification.

The library asks for less than the text: it bounds no length and knows no DNS shape. A name that
keeps the rule of both is safe everywhere; `strict` asks for that.
"""

from __future__ import annotations

import re

import attrs

VENDOR_LENGTH = 253
CLASS_LENGTH = 63
LABEL_LENGTH = 63

_PART = re.compile(r"[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_DEVICE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")


class BadName(ValueError):
    """No qualified device name; the text says what was given, what is wrong and what is right."""


@attrs.frozen
class QualifiedName:
    """A device as it is requested. str() is `vendor/class=device`."""

    vendor: str
    device_class: str
    device: str

    @classmethod
    def parse(cls, text: str, *, strict: bool = False) -> QualifiedName:
        """Splits at the first "=" and the first "/" and judges the parts. Raises BadName."""
        kind, equals, device = text.partition("=")
        vendor, device_class = split_kind(kind)
        if not (equals and vendor and device) or text.startswith("/"):
            raise BadName(f"{text!r} is no qualified device name: write vendor.com/class=device")
        problem = (
            vendor_problem(vendor, strict=strict)
            or class_problem(device_class, strict=strict)
            or device_problem(device, strict=strict)
        )
        if problem:
            raise BadName(f"{text!r} is no qualified device name: {problem}")
        return cls(vendor, device_class, device)

    @property
    def kind(self) -> str:
        """`vendor/class`, as a specification's `kind`."""
        return f"{self.vendor}/{self.device_class}"

    def __str__(self) -> str:
        return f"{self.kind}={self.device}"


def is_qualified(text: str) -> bool:
    """Whether the Go library takes the text for a qualified name."""
    try:
        QualifiedName.parse(text)
    except BadName:
        return False
    return True


def split_kind(kind: str) -> tuple[str, str]:
    """(vendor, class) at the first slash; ("", kind) where one of them would be empty."""
    vendor, _, device_class = kind.partition("/")
    return (vendor, device_class) if vendor and device_class else ("", kind)


def kind_problem(kind: str, *, strict: bool = False) -> str:
    """What is wrong with a `kind`, "" if nothing."""
    vendor, device_class = split_kind(kind)
    if not vendor:
        return f"kind {kind!r} is not of the form vendor.com/class"
    return vendor_problem(vendor, strict=strict) or class_problem(device_class, strict=strict)


def vendor_problem(vendor: str, *, strict: bool = False) -> str:
    """What is wrong with a vendor, "" if nothing. `strict`: it is also a DNS subdomain, in lower
    case, of at most 253 characters.
    """
    if not _PART.fullmatch(vendor):
        return f"vendor {vendor!r} must start with a letter, {_REST}"
    return not_subdomain(f"vendor {vendor!r}", vendor) if strict else ""


def class_problem(device_class: str, *, strict: bool = False) -> str:
    """What is wrong with a class, "" if nothing. `strict`: at most 63 characters, too."""
    if not _PART.fullmatch(device_class):
        return f"class {device_class!r} must start with a letter, {_REST}"
    if strict and len(device_class) > CLASS_LENGTH:
        return (
            f"class {device_class!r} has {len(device_class)} characters; at most {CLASS_LENGTH}"
            " are allowed"
        )
    return ""


def device_problem(device: str, *, strict: bool = False) -> str:
    """What is wrong with a device's name, "" if nothing. `strict`: no colon, which only the
    library knows.
    """
    if not _DEVICE.fullmatch(device):
        return (
            f"device name {device!r} must start and end with a letter or digit and have only"
            " letters, digits and _ - . : between"
        )
    if strict and ":" in device:
        return f"device name {device!r} has a colon, which the specification does not list"
    return ""


def not_subdomain(subject: str, text: str) -> str:
    """Why `text` is no DNS subdomain (RFC 1123, lower case), "" if it is one."""
    if len(text) > VENDOR_LENGTH:
        return f"{subject} has {len(text)} characters; a DNS subdomain has at most {VENDOR_LENGTH}"
    for label in text.split("."):
        if not _LABEL.fullmatch(label) or len(label) > LABEL_LENGTH:
            return (
                f"{subject} is no DNS subdomain: {label!r} is not 1 to {LABEL_LENGTH} lower-case"
                " letters, digits and inner dashes"
            )
    return ""


_REST = "end with a letter or digit and have only letters, digits and _ - . between"
