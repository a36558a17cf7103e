"""The names under which a stream can be spoken, and what differs between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

__all__ = [
    "FORWARD",
    "SPDY_COMMAND",
    "SPDY_FORWARD",
    "SPDY_TUNNEL",
    "WEBSOCKET_COMMAND",
    "WEBSOCKET_FORWARD",
    "Protocol",
    "choose",
]


@attrs.frozen
class Protocol:
    """version: of exec and attach, 1 to 5. base64: whether messages are text, not bytes.

    tunnel: whether it is but a pipe through which SPDY/3.1 runs.
    """

    name: str
    version: int = 1
    base64: bool = False
    tunnel: bool = False

    @property
    def resizes(self) -> bool:
        """Whether a terminal's size can be changed."""
        return self.version >= 3

    @property
    def tells_status(self) -> bool:
        """Whether an end is told as a JSON status; else as text, and only where it is a failure."""
        return self.version >= 4


def _table(*protocols: Protocol) -> Mapping[str, Protocol]:
    return {protocol.name: protocol for protocol in protocols}


SPDY_COMMAND = _table(
    Protocol("v4.channel.k8s.io", 4),
    Protocol("v3.channel.k8s.io", 3),
    Protocol("v2.channel.k8s.io", 2),
    Protocol("channel.k8s.io", 1),
)
"""Exec and attach over SPDY; what servers know. Clients offer v5 as well, which is of WebSocket."""

FORWARD = "portforward.k8s.io"
SPDY_FORWARD = _table(Protocol(FORWARD))
SPDY_TUNNEL = f"SPDY/3.1+{FORWARD}"

WEBSOCKET_COMMAND = _table(
    Protocol("v5.channel.k8s.io", 5),
    Protocol("v4.channel.k8s.io", 4),
    Protocol("v4.base64.channel.k8s.io", 4, base64=True),
    Protocol("channel.k8s.io", 1),
    Protocol("base64.channel.k8s.io", 1, base64=True),
    Protocol("", 1),
)
WEBSOCKET_FORWARD = _table(
    Protocol(SPDY_TUNNEL, tunnel=True),
    Protocol("v4.channel.k8s.io", 4),
    Protocol("v4.base64.channel.k8s.io", 4, base64=True),
    Protocol("", 4),
)


def choose(known: Mapping[str, Protocol], offered: Iterable[str]) -> Protocol | None:
    """The first of the client's names that the server knows; its order is one of preference."""
    return next((known[name] for name in offered if name in known), None)
