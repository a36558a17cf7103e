"""What a runtime was asked for before it handed out a URL, and the token that the URL ends in."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from typing import Literal

import attrs

__all__ = ["MOST_TOKENS", "TOKEN_S", "Kind", "StreamRequest", "Tokens", "TooMany"]

Kind = Literal["exec", "attach", "portforward"]

TOKEN_S = 60.0
"""How long a URL that nobody has used can be used, in seconds."""
MOST_TOKENS = 1_000
"""How many URLs may wait for their use."""


class TooMany(Exception):
    """As many URLs as are kept wait for their use already."""


@attrs.frozen(kw_only=True)
class StreamRequest:
    """An Exec, Attach or PortForward. id: of the container; of a port-forward, of the sandbox."""

    kind: Kind
    id: str
    command: tuple[str, ...] = ()
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    ports: tuple[int, ...] = ()


class Tokens:
    """Requests that wait for their URL to be used: once, within a time, by the right path."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        lifetime_s: float = TOKEN_S,
        most: int = MOST_TOKENS,
        other_path_uses: bool = False,
    ) -> None:
        """other_path_uses: whether a request under the path of another kind takes the token away,
        as in the stock server."""
        self._other_path_uses = other_path_uses
        self._clock, self._lifetime_s, self._most = clock, lifetime_s, most
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[float, StreamRequest]] = {}

    def keep(self, request: StreamRequest) -> str:
        """The token of a request: eight characters of an URL. Raises TooMany."""
        with self._lock:
            self._drop_old()
            if len(self._waiting) >= self._most:
                raise TooMany(f"{self._most} requests for a stream wait for their use already")
            token = secrets.token_urlsafe(6)
            self._waiting[token] = (self._clock() + self._lifetime_s, request)
            return token

    def take(self, kind: str, token: str) -> StreamRequest | None:
        """The request of a token that was not used yet; None for any other, whose URL is unknown,
        and for a path of another kind."""
        with self._lock:
            self._drop_old()
            _, request = self._waiting.get(token, (0.0, None))
            if request is None or (request.kind != kind and not self._other_path_uses):
                return None
            del self._waiting[token]
            return request if request.kind == kind else None

    def _drop_old(self) -> None:
        now = self._clock()
        for token in [token for token, (until, _) in self._waiting.items() if until <= now]:
            del self._waiting[token]
