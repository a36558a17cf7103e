"""Images as messages of `api`."""

from __future__ import annotations

import base64

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state.models import Image
from refimpl.cri.state.settings.images import ImageChoices
from refimpl.images.credentials import Credentials
from refimpl.wire.status import Code, Refused

__all__ = ["credentials", "image"]


def credentials(auth: pb.AuthConfig, choices: ImageChoices) -> Credentials:
    """As kubelet sends them: `auth` is name and password in one, in base64. Raises Refused
    (INVALID_ARGUMENT), without what was sent."""
    user, password = auth.username, auth.password
    if auth.auth and not user:
        try:
            pair = base64.b64decode(auth.auth, validate=True).decode().rstrip("\0")
        except ValueError:
            raise Refused(Code.INVALID_ARGUMENT, "auth.auth is no base64 of a text") from None
        user, colon, password = pair.partition(":")
        if not colon:
            raise Refused(Code.INVALID_ARGUMENT, "auth.auth is not name:password in base64")
    identity = auth.identity_token if "identity" in choices.tokens else ""
    token = auth.registry_token if "registry" in choices.tokens else ""
    return Credentials(user, password, identity, token, auth.server_address)


def image(known: Image) -> pb.Image:
    """With a uid where its user is a number, else with the user's name; both without the group."""
    user = known.user.partition(":")[0]
    number = pb.Int64Value(value=int(user)) if user.isdecimal() else None
    return pb.Image(
        id=known.id,
        repo_tags=known.tags,
        repo_digests=known.digests,
        size=known.size,
        uid=number,
        username="" if user.isdecimal() else user,
        spec=pb.ImageSpec(image=known.id),
        pinned=known.pinned,
    )
