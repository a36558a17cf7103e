"""Images: whatever name somebody comes up with, there is an image of that name."""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager

from refimpl.cri.state.models import Image
from refimpl.wire.status import Code, Refused

__all__ = ["Images"]

_DIGEST = "sha256:"
_SIZE = 1 << 20


class Images:
    """Those that were pulled or used, by name. An id is made of the name: the same in any run."""

    def __init__(self, lock: AbstractContextManager[object]) -> None:
        self._lock = lock
        self._known: dict[str, Image] = {}

    def find(self, name: str) -> Image:
        """The image with this name or id. INVALID_ARGUMENT for an empty one."""
        if not name:
            raise Refused(Code.INVALID_ARGUMENT, "the image has no name: give one")
        with self._lock:
            by_id = (image for image in self._known.values() if image.id == name)
            return self._known.get(name) or next(by_id, None) or Image(_id(name), name, _SIZE)

    def use(self, name: str) -> Image:
        """As `find`, and `known` has it from now on."""
        with self._lock:
            image = self.find(name)
            return self._known.setdefault(image.name, image)

    def remove(self, name: str) -> None:
        """Forgets it under all its names; success where it is unknown."""
        with self._lock:
            gone = self.find(name).id
            self._known = {key: image for key, image in self._known.items() if image.id != gone}

    def known(self) -> list[Image]:
        """Those in use, oldest first."""
        with self._lock:
            return list(self._known.values())


def _id(name: str) -> str:
    return name if name.startswith(_DIGEST) else _DIGEST + hashlib.sha256(name.encode()).hexdigest()
