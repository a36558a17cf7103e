"""What a status says on `verbose`."""

from __future__ import annotations

import json

from google.protobuf.message import Message

from refimpl.wire.secrets import to_dict

__all__ = ["info"]


def info(verbose: bool, config: Message) -> dict[str, str]:
    """The configuration as JSON under "info", as containerd has it; nothing unless verbose."""
    return {"info": json.dumps({"config": to_dict(config)})} if verbose else {}
