"""Routes of a fake's control socket made of its methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl.wire.control import Route

__all__ = ["route"]


def route(act: Callable[..., dict[str, Any] | None], **members: Any) -> Route:
    """A route whose body has these members: name and type, in a tuple where it may be missing.

    The route raises ValueError for other bodies, and what `act` raises.
    """

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        for name in (*members, *body):
            kind = members.get(name)
            if kind is None:
                raise ValueError(f"{name!r} is not known here; known are: {', '.join(members)}")
            if name not in body:
                if isinstance(kind, tuple):
                    continue
                raise ValueError(f"{name!r} is missing in the body")
            if not isinstance(body[name], kind):
                raise ValueError(f"{name}={body[name]!r} is of the wrong type")
        return act(**body) or {}

    return answer
