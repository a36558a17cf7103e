"""What a run holds on a target at once, and a bound to it: a target may be somebody's real storage,
where volumes take what they are asked for with."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from google.protobuf.message import Message

from conformance.csi.settings import CsiSettings
from conformance.csi.sizes import Sizes

__all__ = ["Holdings"]

# No storage has so many bytes: who asks for them, or for more than the driver says it makes, wants
# to be refused.
_ABSURD = 1 << 62
_LEAST = 4 << 30  # bytes: a file system of 1 GiB, a copy of it, and what is shared


class Holdings:
    """The volumes made and not yet deleted, with their sizes.

    most_volumes: how many may be held at once. lifted: the case that runs may hold more, as the
    user asked for cases that do.
    """

    def __init__(self, settings: CsiSettings, sizes: Sizes) -> None:
        self.most_volumes, self.lifted = settings.most_volumes, False
        self._chosen, self._sizes = settings.most_bytes, sizes
        self._held: dict[str, int] = {}
        self._names: set[str] = set()
        self._lock = threading.Lock()

    @property
    def most_bytes(self) -> int:
        """Bytes that may be held at once: more where the driver makes large volumes only."""
        return self._chosen or max(_LEAST, self.most_volumes * self._sizes.known)

    @property
    def bytes(self) -> int:
        """Bytes of all volumes held."""
        with self._lock:
            return sum(self._held.values())

    @property
    def volumes(self) -> int:
        """How many volumes are held."""
        return len(self._held)

    def before(self, method: str, request: Message) -> None:
        """Skips the case that is about to ask for more than may be held. A name that was asked for
        before makes nothing further."""
        sent: Any = request
        if not method.endswith("/CreateVolume") or self.lifted or sent.name in self._names:
            return
        self._names.add(sent.name)
        size = _asked(sent)
        if size >= _ABSURD or 0 < self._sizes.maximum < size:
            return
        if self.bytes + size > self.most_bytes:
            pytest.skip(f"needs more bytes at once than most_bytes = {self.most_bytes} allows")
        if self.volumes >= self.most_volumes:
            pytest.skip(
                f"needs more volumes at once than most_volumes = {self.most_volumes} allows"
            )

    def after(self, method: str, request: Message, reply: Message) -> None:
        """Counts what a call has made, grown or deleted."""
        sent: Any = request
        got: Any = reply
        with self._lock:
            if method.endswith("/CreateVolume") and got.volume.volume_id:
                self._held[got.volume.volume_id] = max(_asked(sent), got.volume.capacity_bytes)
            elif method.endswith("/ControllerExpandVolume") and sent.volume_id in self._held:
                self._held[sent.volume_id] = max(_asked(sent), got.capacity_bytes)
            elif method.endswith("/DeleteVolume"):
                self._held.pop(sent.volume_id, None)


def _asked(sent: Any) -> int:
    """Bytes that a request wants at least, or else at most."""
    wanted = sent.capacity_range
    size: int = wanted.required_bytes or wanted.limit_bytes
    return max(size, 0)
