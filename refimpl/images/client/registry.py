"""A repository of a registry, as a client sees it: manifests and blobs, or a clear refusal."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Callable, Iterator
from typing import TypeVar

from refimpl.images.blobs import DOCKER, OCI, Blob
from refimpl.images.client.access import Authorizer
from refimpl.images.client.http import Answer, Http, is_loopback
from refimpl.images.credentials import Credentials
from refimpl.images.references import Reference
from refimpl.wire.status import Code, Refused

__all__ = ["Repository"]

T = TypeVar("T")
_ACCEPTED = ", ".join([OCI.index, OCI.manifest, DOCKER.index, DOCKER.manifest])
_LARGEST_MANIFEST = 4 << 20
_HOSTS = {"docker.io": "registry-1.docker.io"}
_PAUSES_S = (0.1, 0.5)
"""Between one attempt and the next, where a registry is overloaded for a moment."""
_BUSY = frozenset({429, 500, 502, 503, 504})
_MOST_CHALLENGES = 3
_REFUSALS = {401: Code.UNAUTHENTICATED, 403: Code.PERMISSION_DENIED, 404: Code.NOT_FOUND}


class _Busy(Exception):
    """It may answer otherwise in a moment."""


class Repository:
    """One on this machine is asked without TLS first, any other with TLS alone. What cannot be
    reached is UNKNOWN and begins with RegistryUnavailable, the word that kubelet looks for."""

    def __init__(self, http: Http, reference: Reference, credentials: Credentials) -> None:
        self._http, self._reference = http, reference
        self._access = Authorizer(http, credentials.at(reference.domain), reference.repository)
        self._schemes = ("http", "https") if is_loopback(reference.domain) else ("https",)

    def manifest(self, named: str) -> Blob:
        """By tag or digest, with the type that it says to have; not compared with its digest."""

        def read(answer: Answer) -> Blob:
            kind = answer.headers.get("content-type", "").partition(";")[0].strip()
            return Blob(kind, answer.read(_LARGEST_MANIFEST))

        return self._get(f"manifests/{named}", {"Accept": _ACCEPTED}, read)

    def blob(self, digest: str, keep: Callable[[Iterator[bytes]], T]) -> T:
        """What `keep` makes of its content."""
        return self._get(f"blobs/{digest}", {}, lambda answer: keep(answer.pieces))

    def _get(self, path: str, headers: dict[str, str], read: Callable[[Answer], T]) -> T:
        """Raises Refused."""
        reason = ""
        for pause_s in (*_PAUSES_S, None):
            try:
                return self._over_any_scheme(path, headers, read)
            except (_Busy, http.client.HTTPException) as error:
                reason = str(error) or type(error).__name__
            except OSError as error:
                reason = str(error)
                break
            if pause_s is None or self._http.stopped.wait(pause_s):
                break
        raise Refused(
            Code.UNKNOWN,
            f"RegistryUnavailable: {self._reference.domain} does not serve {self._reference}:"
            f" {reason}",
        )

    def _over_any_scheme(
        self, path: str, headers: dict[str, str], read: Callable[[Answer], T]
    ) -> T:
        for scheme in self._schemes[:-1]:
            with contextlib.suppress(http.client.BadStatusLine, ConnectionResetError):
                return self._over(scheme, path, headers, read)
        return self._over(self._schemes[-1], path, headers, read)

    def _over(
        self, scheme: str, path: str, headers: dict[str, str], read: Callable[[Answer], T]
    ) -> T:
        host = _HOSTS.get(self._reference.domain, self._reference.domain)
        url = f"{scheme}://{host}/v2/{self._reference.repository}/{path}"
        for _ in range(_MOST_CHALLENGES):
            with self._http.ask("GET", url, {**headers, **self._access.headers()}) as answer:
                if answer.status in (200, 206):
                    return read(answer)
                challenge = answer.headers.get("www-authenticate", "")
                status = answer.status
            if status in _BUSY:
                raise _Busy(f"it answers {status}")
            if status != 401 or not self._access.answer(challenge):
                break
        raise Refused(
            _REFUSALS.get(status, Code.UNKNOWN),
            f"{self._reference}: the registry answers {status} {http.client.responses.get(status)}"
            f" for {path}",
        )
