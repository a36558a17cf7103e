"""What a registry holds: repositories with tags, and blobs that they share."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from refimpl.images.blobs import Blob, is_digest
from refimpl.images.build import Built

__all__ = ["Content"]


class Content:
    """images: `repository:tag` -> image, looked into when somebody asks; more by `put`.

    A manifest can be had by its digest as soon as one of its tags was asked for, or listed.
    """

    def __init__(self, images: Mapping[str, Built]) -> None:
        self._images = images
        self._lock = threading.Lock()
        self._added: dict[str, Built] = {}
        self._manifests: dict[tuple[str, str], Blob] = {}
        self._blobs: dict[str, Blob] = {}

    def put(self, name: str, built: Built) -> None:
        """Puts an image there; name: `repository:tag`. What had the tag before loses it."""
        with self._lock:
            self._added[name] = built
            self._learn(name.rpartition(":")[0], built)

    def manifest(self, repository: str, reference: str) -> Blob | None:
        """By tag or digest."""
        with self._lock:
            if is_digest(reference):
                self._learn_all(repository)
                return self._manifests.get((repository, reference))
            name = f"{repository}:{reference}"
            built = self._added.get(name) or self._images.get(name)
            if built is None:
                return None
            self._learn(repository, built)
            return built.manifest

    def blob(self, repository: str, digest: str) -> Blob | None:
        """By digest."""
        with self._lock:
            if digest not in self._blobs:
                self._learn_all(repository)
            return self._blobs.get(digest)

    def tags(self, repository: str) -> list[str]:
        """Sorted; empty where there is no such repository."""
        with self._lock:
            return sorted({name.rpartition(":")[2] for name in self._names(repository)})

    def repositories(self) -> list[str]:
        """Sorted."""
        with self._lock:
            return sorted({name.rpartition(":")[0] for name in (*self._images, *self._added)})

    def referrers(self, repository: str, digest: str) -> list[dict[str, object]]:
        """Descriptors of the manifests whose subject this is, with the type and the annotations of
        each (OCI distribution-spec 1.1, Listing Referrers)."""
        with self._lock:
            self._learn_all(repository)
            mine = [blob for (where, _), blob in self._manifests.items() if where == repository]
        read = [(blob, json.loads(blob.content)) for blob in mine]
        return [_referrer(blob, members) for blob, members in read if _subject(members) == digest]

    def _names(self, repository: str) -> Iterator[str]:
        for name in {**self._images, **self._added} if self._added else self._images:
            if name.rpartition(":")[0] == repository:
                yield name

    def _learn_all(self, repository: str) -> None:
        for name in list(self._names(repository)):
            self._learn(repository, self._added.get(name) or self._images[name])

    def _learn(self, repository: str, built: Built) -> None:
        self._manifests[repository, built.manifest.digest] = built.manifest
        for blob in built.blobs.values():
            self._blobs[blob.digest] = blob
            if "manifest" in blob.media_type:
                self._manifests[repository, blob.digest] = blob


def _subject(members: dict[str, Any]) -> str:
    return str((members.get("subject") or {}).get("digest", ""))


def _referrer(manifest: Blob, members: dict[str, Any]) -> dict[str, object]:
    """An image without a type is of that of its config; an index without one has none."""
    kind = members.get("artifactType") or (members.get("config") or {}).get("mediaType")
    told = {"artifactType": kind, "annotations": members.get("annotations")}
    return {**manifest.descriptor(), **{name: value for name, value in told.items() if value}}
