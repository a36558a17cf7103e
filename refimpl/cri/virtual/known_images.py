"""What is said of images that somebody relies on, where they are made up: their users, what runs in
them, and which names are one image. critest's are here (cri-tools 1.37, `images/` and the constants
of `pkg/validate`)."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

__all__ = ["Known", "known"]


@attrs.frozen(kw_only=True)
class Known:
    """user: as an image has it. command: what its containers run. content: the repository and tag
    whose content it has; its own, where it is empty."""

    user: str = ""
    command: tuple[str, ...] = ("/pause",)
    content: str = ""


def _serves(port: int) -> Known:
    return Known(command=("httpd", "-f", "-p", str(port)))


_E2E, _STAGING = "e2e-test-images", "k8s-staging-cri-tools"
_TAGS = f"{_STAGING}/test-image-tags"
_HOST_NETWORK_PORT = 12003

_KNOWN: Mapping[str, Known] = {
    f"{_E2E}/nginx": _serves(80),
    f"{_E2E}/httpd": Known(command=("sh", "-c", "echo httpd is ready; httpd -f -p 80")),
    **{
        f"{_STAGING}/hostnet-nginx-{machine}": _serves(_HOST_NETWORK_PORT)
        for machine in ("amd64", "arm64", "ppc64le", "s390x")
    },
    _TAGS: Known(content=f"{_TAGS}:1"),
    f"{_STAGING}/test-image-user-uid": Known(user="1002"),
    f"{_STAGING}/test-image-user-username": Known(user="www-data"),
    f"{_STAGING}/test-image-user-uid-group": Known(user="1003:users"),
    f"{_STAGING}/test-image-user-username-group": Known(user="www-data:100"),
    f"{_STAGING}/test-image-predefined-group": Known(user="1000"),
}
"""By repository, whatever the registry and tag."""


def known(repository: str) -> Known:
    """Of an image that nobody relies on: it waits, as root."""
    return _KNOWN.get(repository, Known())
