"""What a status says on `verbose`."""

from __future__ import annotations

import json

from google.protobuf.message import Message

from refimpl.wire.secrets import to_dict

__all__ = ["info"]


def info(verbose: bool, config: Message, **more: object) -> dict[str, str]:
    """The configuration, and more, as JSON under "info", as containerd has it; nothing unless
    verbose."""
    return {"info": json.dumps({"config": to_dict(config), **more})} if verbose else {}
