"""A shell line that repeats a call without us."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator
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


def depends(call: Entry, made_by: Iterable[Entry], run_id: str) -> bool:
    """Whether a request names what one of these calls has made, or a path of the run, neither of
    which is there any more, or has a secret, which no line may show."""
    known = {text for each in made_by for text in _named(each.to_dict())}
    return any(
        text in known or text == MASK or (text.startswith("/") and run_id in text)
        for _, text in _texts(call.to_dict()["requests"])
    )


def _named(call: dict[str, Any]) -> Iterator[str]:
    """The name that a thing was given, and the ids that it got."""
    yield from (text for key, text in _texts(call["requests"]) if key == "name")
    yield from (text for key, text in _texts(call["replies"]) if key.endswith("_id"))


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with the key that it stands under."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _texts(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, key)
