"""An API server just big enough for kubelets, drivers and kubectl: plain HTTP on loopback, JSON,
nobody is asked who they are."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from refimpl.apiserver.handler import ApiHttpServer, replaced
from refimpl.apiserver.manifests import Object
from refimpl.apiserver.objects import Conflict, Missing, Objects, Place
from refimpl.apiserver.paths import place_of

__all__ = ["ApiServer"]


class ApiServer:
    """Serves from construction to `close`; `url` is what a kubeconfig names as the server.

    Objects are as in JSON. Whatever resource is asked for exists, and is empty at first. `watches`
    counts the watches that were opened, by resource (v1/pods).
    """

    def __init__(self) -> None:
        self.objects = Objects()
        self.watches: Counter[str] = Counter()
        self._server = ApiHttpServer(self.objects, self.watches)
        self.url = self._server.url
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="refimpl-apiserver", daemon=True
        ).start()

    def put(self, manifest: Mapping[str, Any]) -> Object:
        """Creates an object, or replaces the one of that name, whose status stays unless one is
        given; returns it as it is kept. Raises Malformed."""
        place = place_of(manifest)
        try:
            return self.objects.create(place, manifest)
        except Conflict:
            status = {"status": manifest["status"]} if "status" in manifest else {}
            return self.objects.change(place, lambda old: {**replaced(old, manifest, ""), **status})

    def get(self, resource: str, name: str, namespace: str = "") -> Object | None:
        """The object, None if there is none."""
        try:
            return self.objects.get(Place(resource, namespace, name))
        except Missing:
            return None

    def remove(
        self, resource: str, name: str, namespace: str = "", *, grace_s: int | None = None
    ) -> None:
        """Deletes an object, a pod with grace; nothing if there is none."""
        try:
            self.objects.remove(Place(resource, namespace, name), grace_s=grace_s)
        except Missing:
            return

    def until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Waits until the condition holds, looked at after every change; False if not in time."""
        return self.objects.until(condition, limit_s)

    def close(self) -> None:
        """Ends it and all watches."""
        self.objects.end_watches()
        self._server.shutdown()
        self._server.server_close()
