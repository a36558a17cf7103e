"""What a second NodePublishVolume of one volume on one node gets: the table of the specification.

CSI 1.13, NodePublishVolume. T is the target path, P all other arguments but the secrets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from refimpl.csi.state.models import AccessMode, Publication
from refimpl.csi.state.rules import quoted
from refimpl.wire.status import Code, Refused

__all__ = ["SECOND_PUBLISH", "first_or_repeat"]

Case = Literal["T=P=", "T=P!", "T!P=", "T!P!"]
Row = Mapping[Case, Code]

_MANY: Row = {
    "T=P=": Code.OK,
    "T=P!": Code.ALREADY_EXISTS,
    "T!P=": Code.OK,
    "T!P!": Code.OK,
}
_ONE: Row = {
    "T=P=": Code.OK,
    "T=P!": Code.ALREADY_EXISTS,
    "T!P=": Code.FAILED_PRECONDITION,
    "T!P!": Code.FAILED_PRECONDITION,
}
SECOND_PUBLISH: Mapping[AccessMode, Row] = {
    AccessMode.MULTI_NODE_READER_ONLY: _MANY,
    AccessMode.MULTI_NODE_SINGLE_WRITER: _MANY,
    AccessMode.MULTI_NODE_MULTI_WRITER: _MANY,
    AccessMode.SINGLE_NODE_MULTI_WRITER: _MANY,
    AccessMode.SINGLE_NODE_SINGLE_WRITER: _ONE,
    AccessMode.SINGLE_NODE_WRITER: _ONE,
    AccessMode.SINGLE_NODE_READER_ONLY: _ONE,
}


def first_or_repeat(existing: Iterable[Publication], new: Publication) -> bool:
    """True if `new` repeats one of the publications `known` of its volume on its node.

    Raises what the table says for every other second call. Where the modes differ both must allow
    it: the one that shares with nobody wins. `Publication.context` is no part of P: an orchestrator
    sends fresh tokens there to the same target (Kubernetes, requiresRepublish).
    """
    for old in sorted(existing, key=lambda old: (old.target != new.target, old.target)):
        case = _case(old, new)
        if case == "T=P=":
            return True
        for mode in (old.capability.mode, new.capability.mode):
            if code := SECOND_PUBLISH[mode][case]:
                raise Refused(code, _why(old, new, mode, case))
    return False


def _case(old: Publication, new: Publication) -> Case:
    same = _arguments(old) == _arguments(new)
    if old.target == new.target:
        return "T=P=" if same else "T=P!"
    return "T!P=" if same else "T!P!"


def _arguments(publication: Publication) -> tuple[object, ...]:
    return publication.capability, publication.readonly, publication.staging


def _why(old: Publication, new: Publication, mode: AccessMode, case: Case) -> str:
    if case == "T=P!":
        names = ("volume_capability", "readonly", "staging_target_path")
        pairs = zip(names, _arguments(old), _arguments(new), strict=True)
        differing = " and ".join(
            name for name, old_value, new_value in pairs if old_value != new_value
        )
        return (
            f"volume {quoted(new.volume_id)} is published at {quoted(new.target)} with another "
            f"{differing}; unpublish it there first"
        )
    return (
        f"volume {quoted(new.volume_id)} is already published at {quoted(old.target)}, and "
        f"{mode.name} allows one target on a node; unpublish it there, or use a mode that shares"
    )
