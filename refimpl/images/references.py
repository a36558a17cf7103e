"""Names of images, as people and kubelet write them (distribution, reference grammar)."""

from __future__ import annotations

import re

import attrs

from refimpl.images.blobs import is_digest

__all__ = ["Malformed", "Reference", "parse"]

_DEFAULT_DOMAIN = "docker.io"
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_DOMAIN = re.compile(r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?")
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_LONGEST = 255


class Malformed(ValueError):
    """What is no name of an image."""


@attrs.frozen
class Reference:
    """domain: of the registry, with its port. tag, digest: either, both, or neither."""

    domain: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        """Registry and repository."""
        return f"{self.domain}/{self.repository}"

    @property
    def tagged(self) -> str:
        """With the tag; "" where it has none."""
        return f"{self.name}:{self.tag}" if self.tag else ""

    @property
    def digested(self) -> str:
        """With the digest; "" where it has none."""
        return f"{self.name}@{self.digest}" if self.digest else ""

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.name}{tag}{digest}"


def parse(text: str) -> Reference:
    """`busybox` is docker.io/library/busybox:latest; a name with a digest keeps its tag, if any.

    Raises Malformed with what is wrong.
    """
    rest, at, digest = text.partition("@")
    if at and not is_digest(digest):
        raise Malformed(f"{text!r}: a digest is sha256: and 64 hexadecimal digits in lower case")
    head, slash, tail = rest.rpartition("/")
    last, colon, tag = tail.partition(":")
    if colon and not _TAG.fullmatch(tag):
        raise Malformed(f"{text!r}: a tag is up to 128 letters, digits, _, . and -")
    domain, repository = _split(f"{head}/{last}" if slash else last)
    if not _DOMAIN.fullmatch(domain):
        raise Malformed(f"{text!r}: {domain!r} is no name of a registry")
    if not _REPOSITORY.fullmatch(repository) or len(repository) > _LONGEST:
        raise Malformed(
            f"{text!r}: a repository is lower case letters and digits in parts, with single ., _"
            " or - between them, and 255 characters at most"
        )
    return Reference(domain, repository, tag if tag or digest else "latest", digest)


def _split(name: str) -> tuple[str, str]:
    """Registry and repository: the first part is a registry if it looks like a host."""
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return first, rest
    return _DEFAULT_DOMAIN, name if slash else f"library/{name}"
