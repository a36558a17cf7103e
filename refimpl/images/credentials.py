"""Who somebody says to be at a registry (CRI AuthConfig)."""

from __future__ import annotations

import attrs

__all__ = ["NOBODY", "Credentials"]


@attrs.frozen
class Credentials:
    """Name and password; or what stands for them: `identity` at the token service, `token` at the
    registry itself. server: for which alone they are, "" for any; a URL or a host."""

    user: str = ""
    password: str = attrs.field(default="", repr=False)
    identity: str = attrs.field(default="", repr=False)
    token: str = attrs.field(default="", repr=False)
    server: str = ""

    def at(self, domain: str) -> Credentials:
        """These, where they are for that registry; nobody's elsewhere, so that no secret goes to a
        stranger."""
        host = self.server.partition("://")[2] or self.server
        return self if host.partition("/")[0] in ("", domain) else NOBODY


NOBODY = Credentials()
