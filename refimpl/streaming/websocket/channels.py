"""Messages with the number of a channel in front, as bytes or as base64."""

from __future__ import annotations

import base64
import binascii

from refimpl.streaming.protocols import Protocol
from refimpl.streaming.websocket.messages import Messages

__all__ = ["CLOSE", "Channels"]

CLOSE = 0xFF
"""In front of the number of a channel that is closed, from v5 on."""


class Channels:
    """What is received and sent, by channel."""

    def __init__(self, messages: Messages, protocol: Protocol) -> None:
        self.messages, self.protocol = messages, protocol

    def receive(self) -> tuple[int, bytes]:
        """Channel and content; -1 for what is no message of a channel. Raises EOFError."""
        message = self.messages.receive()
        if not self.protocol.base64:
            return (message[0], message[1:]) if message else (-1, b"")
        try:
            return int(message[:1]), base64.b64decode(message[1:], validate=True)
        except (ValueError, binascii.Error):
            return -1, b""

    def send(self, channel: int, content: bytes) -> None:
        """Raises OSError."""
        if self.protocol.base64:
            text = str(channel).encode() + base64.b64encode(content)
            self.messages.send(text, text=True)
        else:
            self.messages.send(bytes([channel]) + content)
