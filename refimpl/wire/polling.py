"""How gRPC waits, what it says, and what it does about forks, chosen before it is loaded."""

from __future__ import annotations

import os
import sys
from importlib import metadata

__all__ = ["VARIABLES", "leave_forks_alone", "poll_in_the_caller", "say_errors_only"]

_EXPERIMENTS, _FORKS = "GRPC_EXPERIMENTS", "GRPC_ENABLE_FORK_SUPPORT"
_WORDS = "GRPC_VERBOSITY"
VARIABLES = frozenset({_EXPERIMENTS, _FORKS, _WORDS})
"""What is set here is for this process, not for those it starts."""

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
        os.environ.setdefault(_EXPERIMENTS, "-event_engine_client")


def leave_forks_alone() -> None:
    """Keeps gRPC from preparing itself for a fork, and from saying on stderr that it could not.

    What we fork becomes another program at once. Has no effect once gRPC is loaded, or where the
    user has chosen already.
    """
    os.environ.setdefault(_FORKS, "0")


def say_errors_only() -> None:
    """Keeps gRPC from telling on stderr what peers do that we break on purpose, such as how they
    hang up. Has no effect once gRPC is loaded, or where the user has chosen already.
    """
    os.environ.setdefault(_WORDS, "ERROR")
