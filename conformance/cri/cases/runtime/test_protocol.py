"""How a runtime speaks gRPC: unknown methods and fields, deadlines, many callers."""

from __future__ import annotations

import threading
from typing import TypeVar

from google.protobuf.message import Message

from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code

M = TypeVar("M", bound=Message)

# Fields 999 (a number) and 1000 (a text), which no message of CRI has.
_UNKNOWN_FIELDS = b"\xb8\x3e\x01" + b"\xc2\x3e\x07refimpl"
_CALLERS = 20
_SHORT_S = (1e-6, 1e-3, 1e-2, 5e-2)


def _extended(message: M) -> M:
    return type(message).FromString(message.SerializeToString() + _UNKNOWN_FIELDS)


@case("CRI-RT-018", "gRPC: UNIMPLEMENTED; clients fall back when they are told so")
def test_an_unknown_method_is_unimplemented(cri: CriTarget) -> None:
    """Kubelet tries what a later release brings, and does without where it is not there."""
    for service in ("RuntimeService", "ImageService"):
        call = cri.channel().unary_unary(f"/runtime.v1.{service}/NoSuchMethod")
        expect_status(
            lambda call=call: call(b""),  # type: ignore[misc]
            {Code.UNIMPLEMENTED},
            f"a method that {service} does not have is UNIMPLEMENTED",
        )


@case("CRI-RT-019", "proto3: unknown fields are ignored")
def test_unknown_fields_change_nothing(cri: CriTarget) -> None:
    """A kubelet of a later release sends fields that this runtime has never heard of."""
    plain = cri.runtime.Version(pb.VersionRequest())
    reply = cri.runtime.Version(_extended(pb.VersionRequest()))
    expect(reply == plain, "Version answers as without them", wanted=plain, got=reply)
    config = _extended(cri.pods.config())
    pod = cri.pods.ask(config)
    expect(pod.status().state == pb.SANDBOX_READY, "a sandbox is READY", wanted=0, got=pod.status())


@case("CRI-RT-020", "cri-client: ImageFsInfo is its probe of the image service")
def test_the_probe_of_images_answers_soon(cri: CriTarget) -> None:
    """crictl gives it two seconds."""
    expect_status(
        lambda: cri.images.ImageFsInfo(pb.ImageFsInfoRequest(), timeout=2.0),
        {Code.OK},
        "ImageFsInfo answers within 2 s",
    )


@case("CRI-RT-021", "kubelet calls from many threads at a time")
def test_many_callers_are_answered(cri: CriTarget) -> None:
    """A lock held too long shows as a node that is not ready."""
    errors: list[Exception] = []

    def ask() -> None:
        try:
            cri.kubelet.status(timeout=2.0)
            cri.kubelet.version(timeout=2.0)
            cri.runtime.ListPodSandbox(pb.ListPodSandboxRequest(), timeout=2.0)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(_CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not errors, f"{_CALLERS} callers are answered within 2 s", wanted="OK", got=errors)


@case("CRI-RT-022", "gRPC: a deadline that is over")
def test_a_deadline_that_is_over_harms_nobody(cri: CriTarget) -> None:
    """A kubelet under load gives up calls; the runtime answers the next."""
    for timeout in _SHORT_S:
        expect_status(
            lambda timeout=timeout: cri.kubelet.status(timeout=timeout),  # type: ignore[misc]
            # gRPC counts in milliseconds, in which a runtime may well have answered.
            {Code.DEADLINE_EXCEEDED, Code.OK},
            "a call whose deadline is over is DEADLINE_EXCEEDED",
        )
    expect_status(cri.kubelet.version, {Code.OK}, "the next call is answered")
