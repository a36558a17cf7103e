"""Where calls and servers of the wire can be bent."""

from __future__ import annotations

from refimpl.wire.client import Channel
from refimpl.wire.methods import UnaryMethod, Unknown
from refimpl.wire.seam import Seam
from refimpl.wire.server import Server

DEADLINE = Seam.of(Channel.seconds)
WAIT_READY = Seam.of(Channel.wait_ready)
SERVE = Seam.of(UnaryMethod.serve)
SERVE_UNKNOWN = Seam.of(Unknown.serve)
START_SERVER = Seam.of(Server.start)
STOP_SERVER = Seam.of(Server.stop)
