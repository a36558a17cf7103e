"""How gRPC waits for replies, chosen before it is loaded."""

from __future__ import annotations

import os
import sys
from importlib import metadata

__all__ = ["VARIABLE", "poll_in_the_caller"]

VARIABLE = "GRPC_EXPERIMENTS"
_KNOWN = ((1, 76), (1, 86))
"""The first grpcio that was measured, and the first that was not: an unknown name is an error
message on stderr."""


def poll_in_the_caller() -> None:
    """Lets the thread that makes a unary call wait for its reply itself.

    gRPC's event engine hands every reply over between threads; without it a call on a unix socket
    takes a quarter less. Has no effect once gRPC is loaded, or where the user has chosen already.
    """
    version = tuple(int(part) for part in metadata.version("grpcio").split(".")[:2])
    if "grpc" not in sys.modules and _KNOWN[0] <= version < _KNOWN[1]:
        os.environ.setdefault(VARIABLE, "-event_engine_client")
