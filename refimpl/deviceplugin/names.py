"""What Register checks before it dials (kubelet 2.1): version, resource name, place of the socket.

kubelet answers with plain errors, which gRPC calls UNKNOWN.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from refimpl.deviceplugin.state.settings import SUPPORTED_VERSIONS
from refimpl.wire.status import Code, Refused

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_PREFIX = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_NAME = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?")
PREFIX_LENGTH = 253 - len("requests.")
"""Quota puts `requests.` in front, and the whole must still be a DNS name."""
NAME_LENGTH = 63


def check_registration(version: str, resource: str) -> None:
    """Judge a RegisterRequest in kubelet's order. Refused(UNKNOWN) says what to send instead."""
    check_versions([version])
    check_resource(resource)


def check_versions(versions: Iterable[str]) -> None:
    """At least one version is supported (a plugin watched by kubelet names several)."""
    sent = list(versions)
    if not set(sent) & set(SUPPORTED_VERSIONS):
        raise Refused(
            Code.UNKNOWN,
            f"version {', '.join(map(ascii, sent)) or 'none'} is not supported; this kubelet"
            f" supports {', '.join(SUPPORTED_VERSIONS)}",
        )


def check_resource(resource: str) -> None:
    """Refused(UNKNOWN) unless the name is one of an extended resource."""
    if fault := _fault(resource):
        raise Refused(
            Code.UNKNOWN,
            f"resource name {resource[:300]!a} {fault}; send vendor-domain/name",
        )


def is_extended_resource(resource: str) -> bool:
    """True for a name that `check_resource` accepts."""
    return not _fault(resource)


def _fault(resource: str) -> str:
    prefix, slash, name = resource.partition("/")
    if not slash:
        return "has no domain before a slash"
    if "kubernetes.io/" in resource:
        return "lies in kubernetes.io, which is not for vendors"
    if resource.startswith("requests."):
        return "starts with requests., the word of quotas"
    if len(prefix) > PREFIX_LENGTH:
        return f"has a domain of {len(prefix)} characters, above {PREFIX_LENGTH}"
    if not _PREFIX.fullmatch(prefix):
        return "has a domain that is no lower-case DNS name"
    if len(name) > NAME_LENGTH:
        return f"has a last part of {len(name)} characters, above {NAME_LENGTH}"
    if not _NAME.fullmatch(name):
        return "has a last part that is not made of letters, digits and -_. between alphanumerics"
    return ""


def socket_path(folder: str, endpoint: str) -> str:
    """Where kubelet dials for an endpoint of RegisterRequest: joined, cleaned, never checked.

    "" is the folder itself, `../x` leaves it, and an absolute path is taken as one below it.
    """
    return posixpath.normpath(f"{folder}/{endpoint}")
