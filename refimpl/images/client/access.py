"""Being let in: what a registry asks for, and what is shown to it (RFC 7235, RFC 6749, 6750)."""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import urlencode

from refimpl.images.client.http import Answer, Http
from refimpl.images.credentials import Credentials
from refimpl.wire.status import Code, Refused

__all__ = ["Authorizer"]

_PARAMETER = re.compile(r'([a-zA-Z_-]+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))')
_LARGEST_TOKEN = 1 << 20
_CLIENT = "refimpl"


class Authorizer:
    """The header for the requests to one registry. It begins with what was given for the registry
    itself, and learns more from each challenge."""

    def __init__(self, http: Http, credentials: Credentials, repository: str) -> None:
        self._http, self._credentials = http, credentials
        self._scope = f"repository:{repository}:pull"
        self._header = f"Bearer {credentials.token}" if credentials.token else ""

    def headers(self) -> dict[str, str]:
        """For the next request."""
        return {"Authorization": self._header} if self._header else {}

    def answer(self, challenge: str) -> bool:
        """Takes a challenge (WWW-Authenticate) up; whether another attempt makes sense. Raises
        Refused where its token service lets us not in."""
        scheme, _, rest = challenge.strip().partition(" ")
        given = self._credentials
        if scheme.lower() == "bearer" and not given.token:
            named = {name.lower(): text or bare for name, text, bare in _PARAMETER.findall(rest)}
            header = f"Bearer {self._token(named)}"
        elif scheme.lower() == "basic" and given.user:
            header = _basic(given)
        else:
            return False
        again, self._header = header != self._header, header
        return again

    def _token(self, named: dict[str, str]) -> str:
        realm = named.get("realm", "")
        if not realm.startswith(("http://", "https://")):
            raise Refused(Code.UNKNOWN, f"the realm {realm!r} of a registry is no URL")
        service, scope = named.get("service", ""), named.get("scope", self._scope)
        if self._credentials.identity:
            return self._exchanged(realm, service, scope)
        query = urlencode({"service": service, "scope": scope, "client_id": _CLIENT})
        headers = {"Authorization": _basic(self._credentials)} if self._credentials.user else {}
        joint = "&" if "?" in realm else "?"
        with self._http.ask("GET", f"{realm}{joint}{query}", headers) as answer:
            return _granted(answer, realm)

    def _exchanged(self, realm: str, service: str, scope: str) -> str:
        form = {
            "grant_type": "refresh_token",
            "refresh_token": self._credentials.identity,
            "service": service,
            "scope": scope,
            "client_id": _CLIENT,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        with self._http.ask("POST", realm, headers, urlencode(form).encode()) as answer:
            return _granted(answer, realm)


def _granted(answer: Answer, realm: str) -> str:
    content = answer.read(_LARGEST_TOKEN)
    if answer.status != 200:
        raise Refused(
            Code.UNAUTHENTICATED,
            f"the token service {realm} answers {answer.status}: check the credentials",
        )
    try:
        reply: Any = json.loads(content)
        return str(reply.get("token") or reply["access_token"])
    except (ValueError, AttributeError, KeyError):
        raise Refused(Code.UNKNOWN, f"the token service {realm} answers no token") from None


def _basic(credentials: Credentials) -> str:
    pair = f"{credentials.user}:{credentials.password}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"
