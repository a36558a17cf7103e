"""Images as messages of `api`."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state.models import Image

__all__ = ["image"]


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
