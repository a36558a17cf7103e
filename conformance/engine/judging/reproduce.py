"""A shell line that repeats a call without us."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import refimpl
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry
from refimpl.wire.secrets import MASK


def grpcurl(call: Entry, endpoint: Endpoint, proto: str) -> str:
    """The call as a grpcurl line; `proto` is the import path of our schema. Secrets stay out."""
    root = Path(refimpl.__file__).parent.parent
    message = call.to_dict()["requests"]
    body = json.dumps(message[0] if message else {}, ensure_ascii=False)
    address = ["-unix", endpoint.path] if endpoint.kind == "unix" else [endpoint.target]
    words = ["grpcurl", "-plaintext", "-import-path", str(root), "-proto", proto, "-d", body]
    return shlex.join([*words, *address, call.method.removeprefix("/")])


def depends(call: Entry, replies: Any, run_id: str) -> bool:
    """Whether a request names what one of these replies has told, or a path of the run, neither of
    which is there any more, or has a secret, which no line may show."""
    known = {text for text in _texts(replies) if text}
    return any(
        text in known or text == MASK or (text.startswith("/") and run_id in text)
        for text in _texts(call.to_dict()["requests"])
    )


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
