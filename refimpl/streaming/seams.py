"""Where streams can be bent from outside, on the side of the server."""

from __future__ import annotations

from refimpl.streaming import protocols, server
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.requests import Tokens
from refimpl.streaming.spdy import forward
from refimpl.streaming.spdy.command import SpdyCommand
from refimpl.streaming.spdy.session import Session
from refimpl.streaming.streams import Sizes
from refimpl.streaming.websocket.channels import Channels
from refimpl.streaming.websocket.command import WebSocketCommand
from refimpl.wire.seam import Seam

TAKE_TOKEN = Seam.of(Tokens.take)
SERVE_URL = Seam.of(server.StreamingServer._serve)
SWITCH_TO_SPDY = Seam.of(server.StreamingServer._spdy)
CHOOSE_PROTOCOL = Seam.of(protocols.choose)
TELL_STATUS = Seam.of(Outcome.status)
TELL_TEXT = Seam.of(Outcome.text)
FEED_SESSION = Seam.of(Session.feed)
TAKE_SIZE = Seam.of(Sizes.feed)
TAKE_INPUT = Seam.of(SpdyCommand._input)
END_INPUT = Seam.of(SpdyCommand._end_of)
LOSE_CLIENT = Seam.of(SpdyCommand.leave)
SEND_CHANNEL = Seam.of(Channels.send)
HEAR_CHANNEL = Seam.of(WebSocketCommand._hear)
OPEN_FORWARD = Seam.of(forward._Forwarding._opened)
HEAR_FORWARD = Seam.of(forward._Forwarding.hear)
READ_PORT = Seam.of(forward._port)
