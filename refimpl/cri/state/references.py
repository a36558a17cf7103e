"""References to images: `registry/repository:tag@digest`, and their short forms."""

from __future__ import annotations

import re

import attrs

from refimpl.wire.status import Code, Refused

__all__ = ["Reference", "parse"]

_DOMAIN = "docker.io"
_LIBRARY = "library"
_PATH = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_WHOLE = re.compile(
    r"(?:(?P<domain>(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+(?::\d+)?|\[[0-9a-fA-F:]+\](?::\d+)?)/)?"
    rf"(?P<path>{_PATH}(?:/{_PATH})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)


@attrs.frozen
class Reference:
    """A whole one: it has a tag or a digest, or both, of which the digest counts."""

    domain: str
    path: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        """Registry and repository."""
        return f"{self.domain}/{self.path}"

    def __str__(self) -> str:
        return f"{self.name}@{self.digest}" if self.digest else f"{self.name}:{self.tag}"


def parse(text: str) -> Reference:
    """What a text refers to: without a tag `latest`, without a registry docker.io, there without
    an owner `library` (as Docker and containerd read it). INVALID_ARGUMENT for one that is none."""
    match = _WHOLE.fullmatch(text)
    groups = match.groupdict("") if match else {}
    domain, path = groups.get("domain", ""), groups.get("path", "")
    # What has neither dot nor port is no host, but a part of the repository.
    if not (set(".:[") & set(domain) or domain in ("", "localhost")):
        domain, path = "", f"{domain}/{path}"
    if match is None or path != path.lower():
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"{text!r} is no reference to an image: write registry/repository:tag, in lower case",
        )
    tag, digest = groups["tag"], groups["digest"]
    domain = domain or _DOMAIN
    if domain == _DOMAIN and "/" not in path:
        path = f"{_LIBRARY}/{path}"
    return Reference(domain, path, tag or ("" if digest else "latest"), digest)
