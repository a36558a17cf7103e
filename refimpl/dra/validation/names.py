"""Names in objects: drivers, pools, devices, attributes, labels.

Source: Kubernetes documentation, "Object Names and IDs"; resource.k8s.io/v1 field comments.
"""

from __future__ import annotations

import re

from refimpl.dra.patterns import LABEL, SUBDOMAIN, WORD
from refimpl.dra.validation.problems import At, Reason, required

__all__ = [
    "attribute_key", "condition", "driver", "extended_resource", "full_name", "label", "label_key",
    "label_value", "pool", "share_id", "subdomain",
]  # fmt: skip

_LABEL, _SUBDOMAIN, _WORD = map(re.compile, (LABEL, SUBDOMAIN, WORD))
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
_LABEL_LONG, _SUBDOMAIN_LONG, _DRIVER_LONG, _ID_LONG = 63, 253, 63, 32


def _is_label(value: str) -> bool:
    return len(value) <= _LABEL_LONG and bool(_LABEL.fullmatch(value))


def _is_subdomain(value: str) -> bool:
    return len(value) <= _SUBDOMAIN_LONG and bool(_SUBDOMAIN.fullmatch(value))


def label(at: At, value: str) -> None:
    """A DNS label that has to be there."""
    if required(at, value) and not _is_label(value):
        at.invalid(f"{value!r} is no DNS label: a-z, 0-9 and -, 63 characters at most")


def subdomain(at: At, value: str) -> None:
    """A DNS subdomain that has to be there."""
    if required(at, value) and not _is_subdomain(value):
        at.invalid(
            f"{value!r} is no DNS subdomain: labels with dots between, 253 characters at most"
        )


def driver(at: At, value: str) -> None:
    """A name of a driver, as of CSI: capital letters are tolerated."""
    if not required(at, value):
        return
    if len(value) > _DRIVER_LONG:
        at.note(Reason.TOO_LONG, f"has {len(value)} characters; {_DRIVER_LONG} are allowed")
    if not _is_subdomain(value.lower()):
        at.invalid(f"{value!r} is no name of a driver: a DNS subdomain such as gpu.example.com")


def pool(at: At, value: str) -> None:
    """DNS subdomains with / between."""
    if not required(at, value):
        return
    if len(value) > _SUBDOMAIN_LONG:
        at.note(Reason.TOO_LONG, f"has {len(value)} characters; {_SUBDOMAIN_LONG} are allowed")
    for part in value.split("/"):
        if not _is_subdomain(part):
            at.invalid(f"{part!r} is no DNS subdomain; a pool is one, or some with / between")


def attribute_key(at: At, value: str) -> None:
    """id or domain/id; with more than one slash Kubernetes 1.37 looks no closer."""
    parts = value.split("/")
    if len(parts) > 2:
        return
    if len(parts) == 2:
        if not parts[0]:
            at.invalid(f"{value!r} has no domain before its slash")
        else:
            driver(at, parts[0])
    id = parts[-1]
    if not id:
        at.invalid(f"{value!r} has no name after its slash")
    elif len(id) > _ID_LONG:
        at.note(Reason.TOO_LONG, f"{id!r} has {len(id)} characters; {_ID_LONG} are allowed")
    elif not _ID.fullmatch(id):
        at.invalid(f"{id!r} is no identifier: letters, digits and _, no digit first")


def full_name(at: At, value: str) -> None:
    """domain/id."""
    if not required(at, value):
        return
    if "/" not in value:
        at.invalid(f"{value!r} has no domain: domain/{value}")
    attribute_key(at, value)


def _is_label_key(value: str) -> bool:
    *prefix, name = value.split("/")
    if len(prefix) > 1 or (prefix and not _is_subdomain(prefix[0])):
        return False
    return len(name) <= _LABEL_LONG and bool(_WORD.fullmatch(name))


def label_key(at: At, value: str) -> None:
    """The key of a label or taint."""
    if required(at, value) and not _is_label_key(value):
        at.invalid(f"{value!r} is no key of a label, such as example.com/name")


def condition(at: At, value: str) -> None:
    """The type of a condition."""
    if not _is_label_key(value):
        at.invalid(f"{value!r} is no type of a condition, such as example.com/Ready")


def label_value(at: At, value: str) -> None:
    """The value of a label or taint, which may be empty."""
    if value and not (len(value) <= _LABEL_LONG and _WORD.fullmatch(value)):
        at.invalid(f"{value!r} is no value of a label: letters, digits, - _ and ., 63 at most")


def share_id(at: At, value: str) -> None:
    """A UUID in small letters."""
    if not _UUID.fullmatch(value):
        at.invalid(f"{value!r} is no UUID in small letters")


def extended_resource(at: At, value: str) -> None:
    """domain/name, not of Kubernetes itself and not of a quota."""
    if not value:
        at.invalid("may be left out, but not be empty")
    native = "/" not in value or "kubernetes.io/" in value
    if native or value.startswith("requests.") or not _is_label_key(f"requests.{value}"):
        at.invalid(f"{value!r} is no extended resource, such as example.com/gpu")
