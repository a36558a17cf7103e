"""Pods that killed runs left in a runtime; the uid is all that is on record of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.engine.ledger.leftovers import Leftovers
from conformance.engine.options import BadOption
from refimpl.cri import kubelet
from refimpl.wire.endpoint import EndpointError
from refimpl.wire.journal import Entry

__all__ = ["POD", "connect", "leftovers"]

POD = "pod"
_REQUEST_S = 30.0
"""A quarter of kubelet's: whoever waits for a verdict has less patience."""


def connect(
    endpoint: str,
    *,
    ready_s: float = 10.0,
    observers: Sequence[Callable[[Entry], object]] = (),
) -> kubelet.RemoteRuntime:
    """The runtime that a user has named; each observer is handed every call. Raises BadOption for
    an endpoint that is none, Unreachable."""
    try:
        return kubelet.connect(endpoint, ready_s=ready_s, request_s=_REQUEST_S, observers=observers)
    except EndpointError as error:
        raise BadOption(str(error)) from error


def leftovers(endpoint: str) -> Leftovers:
    """Removes files and pods; raises BadOption, Unreachable."""
    runtime = connect(endpoint)
    return Leftovers({POD: lambda entry: kubelet.remove_pod(runtime, entry.name)}, runtime.close)
