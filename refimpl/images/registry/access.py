"""Who may read: anybody, who knows a password, or who has fetched a token with it (RFC 6750)."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Sequence
from typing import Protocol

import attrs

__all__ = ["Access", "Anybody", "Basic", "Bearer"]


class Access(Protocol):
    """How a registry knows its callers."""

    def allows(self, authorization: str) -> bool:
        """Whether this header may go on."""

    def challenge(self, base: str, repository: str) -> str:
        """WWW-Authenticate for who may not. base: the URL of the registry."""

    def token(self, authorization: str) -> str | None:
        """A token for who shows this header to the token service; None for nobody."""


@attrs.frozen
class Anybody:
    """No questions asked."""

    def allows(self, authorization: str) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def challenge(self, base: str, repository: str) -> str:  # noqa: ARG002
        """Nobody is asked."""
        return ""

    def token(self, authorization: str) -> str | None:  # noqa: ARG002
        """There is none."""
        return None


@attrs.frozen
class Basic:
    """A name and a password with each request."""

    user: str
    password: str = attrs.field(repr=False)

    def allows(self, authorization: str) -> bool:
        """Whether both are right."""
        return _same(_credentials(authorization), (self.user, self.password))

    def challenge(self, base: str, repository: str) -> str:  # noqa: ARG002
        """Asks for them."""
        return 'Basic realm="refimpl"'

    def token(self, authorization: str) -> str | None:  # noqa: ARG002
        """There is none."""
        return None


@attrs.frozen
class Bearer:
    """A token from `/token` with each request; the name and the password are for that service.

    identity: a token that stands for both there, as `docker login` keeps one.
    """

    user: str
    password: str = attrs.field(repr=False)
    identity: str = attrs.field(default="", repr=False)
    tokens: set[str] = attrs.field(factory=set, repr=False)

    def allows(self, authorization: str) -> bool:
        """Whether the token is one of ours."""
        scheme, _, token = authorization.partition(" ")
        return scheme.lower() == "bearer" and token.strip() in self.tokens

    def challenge(self, base: str, repository: str) -> str:
        """Tells where to get one, and for what."""
        scope = f',scope="repository:{repository}:pull"' if repository else ""
        return f'Bearer realm="{base}/token",service="refimpl"{scope}'

    def token(self, authorization: str) -> str | None:
        """A new one, for the right name and password."""
        if not _same(_credentials(authorization), (self.user, self.password)):
            return None
        return self.grant()

    def exchange(self, refresh: str) -> str | None:
        """A new one, for the identity token (OAuth 2, grant_type=refresh_token)."""
        right = bool(self.identity) and hmac.compare_digest(refresh, self.identity)
        return self.grant() if right else None

    def grant(self) -> str:
        """A token that is good from now on."""
        token = secrets.token_urlsafe(24)
        self.tokens.add(token)
        return token


def _credentials(authorization: str) -> tuple[str, str]:
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return user, password


def _same(shown: Sequence[str], right: Sequence[str]) -> bool:
    pairs = [(one.encode(), other.encode()) for one, other in zip(shown, right, strict=True)]
    # All are compared: how long it takes must not tell which one is wrong.
    return sum(hmac.compare_digest(one, other) for one, other in pairs) == len(pairs)
