"""The RPCs of CRI."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from conformance.engine.rpcs import Rpc, of_schema
from refimpl.cri.api import cri_pb2 as pb

__all__ = ["Rpc", "every"]


@functools.cache
def every() -> Sequence[Rpc]:
    """All RPCs of both services, in the order of the schema."""
    return of_schema(pb.DESCRIPTOR, Rpc)
