"""Images from real registries: an `ImageSource` for whatever model has a place for their blobs."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Mapping
from typing import Any

from refimpl.cri.state.models import Image
from refimpl.cri.state.ports import Caller
from refimpl.images.build import Built
from refimpl.images.client import Pulled, pull
from refimpl.images.credentials import Credentials
from refimpl.images.references import Reference, parse
from refimpl.images.store import Blobs

__all__ = ["RegistryImages"]


class RegistryImages:
    """Pulls into `blobs`, which have nothing that no image and no pull under way needs."""

    def __init__(self, blobs: Blobs) -> None:
        self.blobs = blobs
        self._lock = threading.Lock()
        self._pulls = 0
        self._kept: dict[str, set[str]] = {}

    def pull(self, reference: str, credentials: Credentials, caller: Caller) -> Image:
        """As `images.client.pull`."""
        named = parse(reference)
        with self._lock:
            self._pulls += 1
        try:
            pulled = pull(named, self.blobs, caller, credentials)
            with self._lock:
                self._kept.setdefault(pulled.id, set()).update(pulled.blobs)
            return image_of(named, pulled)
        finally:
            self._collect(pulls=-1)

    def add(self, named: Reference, built: Built) -> Image:
        """An image that is made here, as if it had been pulled under that name."""
        with self._lock:
            self._pulls += 1
        try:
            blobs = {**built.blobs, built.manifest.digest: built.manifest}
            for digest, blob in blobs.items():
                self.blobs.write(digest, [blob.content])
            with self._lock:
                self._kept.setdefault(built.id, set()).update(blobs)
            return image_of(named, _as_pulled(built))
        finally:
            self._collect(pulls=-1)

    def forget(self, image: Image) -> None:
        """Its blobs go, but for those of others."""
        with self._lock:
            self._kept.pop(image.id, None)
        self._collect()

    def _collect(self, pulls: int = 0) -> None:
        """Nothing while a pull is under way: it counts on what was there when it looked."""
        with self._lock:
            self._pulls += pulls
            if not self._pulls:
                for digest in self.blobs.digests() - set().union(*self._kept.values()):
                    self.blobs.remove(digest)


def _as_pulled(built: Built) -> Pulled:
    manifest = json.loads(built.manifest.content)
    return Pulled(
        built.manifest.digest,
        built.id,
        json.loads(built.blobs[built.id].content),
        tuple((each["digest"], each["mediaType"]) for each in manifest["layers"]),
        sum(len(blob.content) for blob in built.blobs.values()),
        tuple(built.blobs),
    )


def image_of(named: Reference, pulled: Pulled) -> Image:
    """What was pulled, under the name by which it was."""
    chosen: Mapping[str, Any] = pulled.config.get("config") or {}
    return Image(
        id=pulled.id,
        size=pulled.size,
        tags=() if named.digest else (named.tagged,),
        digests=(f"{named.name}@{pulled.digest}",),
        user=str(chosen.get("User") or ""),
        stop_signal=_number(str(chosen.get("StopSignal") or "")),
        entrypoint=_texts(chosen, "Entrypoint"),
        command=_texts(chosen, "Cmd"),
        env=_texts(chosen, "Env"),
        workdir=str(chosen.get("WorkingDir") or ""),
        config=json.dumps(pulled.config),
        layers=tuple(digest for digest, _ in pulled.layers),
    )


def _texts(chosen: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return tuple(map(str, chosen.get(name) or ()))


def _number(name: str) -> int:
    """Of a signal, by number, or by name with or without SIG; 0 for none."""
    if name.isdecimal():
        return int(name)
    return int(getattr(signal, f"SIG{name.upper().removeprefix('SIG')}", 0)) if name else 0
