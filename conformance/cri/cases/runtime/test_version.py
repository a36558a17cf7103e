"""Version: the first call of every client."""

from __future__ import annotations

import re

from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb

_SEMVER = re.compile(r"v?\d+(\.\d+){0,2}([-+.~].*)?$")
"""Semantic versions with what distributions add to them."""


@case("CRI-RT-001", "cri-client: all fields of the answer have to be filled")
def test_no_field_of_the_version_is_empty(cri: CriTarget) -> None:
    """Kubelet, crictl and critest refuse to talk to a runtime that leaves one out."""
    reply = cri.runtime.Version(pb.VersionRequest())
    for name in ("version", "runtime_name", "runtime_version", "runtime_api_version"):
        expect(getattr(reply, name), f"{name} is filled", wanted="a text", got=reply)


@case("CRI-RT-002", "kubelet, crictl and critest each send a version of their own")
def test_the_version_that_is_sent_changes_nothing(cri: CriTarget) -> None:
    """A runtime that compares it works with one client and not with the next."""
    plain = cri.runtime.Version(pb.VersionRequest())
    for sent in ("0.1.0", "v1", "9.9.9"):
        reply = cri.runtime.Version(pb.VersionRequest(version=sent))
        expect(reply == plain, f"the answer to {sent!r} is that to none", wanted=plain, got=reply)


@case("CRI-RT-003", "CRI v1 VersionResponse: semantic versions")
def test_versions_are_semantic(cri: CriTarget) -> None:
    """Tools compare them to know what a runtime can do."""
    reply = cri.runtime.Version(pb.VersionRequest())
    for name in ("runtime_version", "runtime_api_version"):
        version = getattr(reply, name)
        expect(_SEMVER.match(version), f"{name} is a version", wanted="such as 1.2.3", got=version)


@case("CRI-RT-004", "kubelet compares it with its own")
def test_the_api_is_that_of_kubelet(cri: CriTarget) -> None:
    """Kubelet does not start with any other."""
    version = cri.runtime.Version(pb.VersionRequest()).version
    expect(version == "0.1.0", "version is that of kubelet's API", wanted="0.1.0", got=version)
