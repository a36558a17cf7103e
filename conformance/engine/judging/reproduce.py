"""A shell line that repeats a call without us."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import refimpl
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry


def grpcurl(call: Entry, endpoint: Endpoint, proto: str) -> str:
    """The call as a grpcurl line; `proto` is the import path of our schema. Secrets stay out."""
    root = Path(refimpl.__file__).parent.parent
    message = call.to_dict()["requests"]
    body = json.dumps(message[0] if message else {}, ensure_ascii=False)
    address = ["-unix", endpoint.path] if endpoint.kind == "unix" else [endpoint.target]
    words = ["grpcurl", "-plaintext", "-import-path", str(root), "-proto", proto, "-d", body]
    return shlex.join([*words, *address, call.method.removeprefix("/")])
