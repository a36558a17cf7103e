"""The objects of an API server: kept by place, changed, followed by watches."""

from __future__ import annotations

import copy
import datetime
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Any

import attrs

from refimpl.apiserver.manifests import Malformed, Object, checked

__all__ = ["Conflict", "Missing", "Objects", "Place", "WatchEvent"]

_DONE = ("Succeeded", "Failed")


class Missing(LookupError):
    """There is no such object."""


class Conflict(ValueError):
    """The object exists already, or is another one than the caller thinks."""


@attrs.frozen
class Place:
    """Where an object lies: `resource` is group, version and plural, such as v1/pods."""

    resource: str
    namespace: str = ""
    name: str = ""

    def holds(self, other: Place) -> bool:
        """Whether `other` is this place or lies in it; empty fields hold everything."""
        return (
            self.resource == other.resource
            and self.namespace in ("", other.namespace)
            and self.name in ("", other.name)
        )


@attrs.frozen
class WatchEvent:
    """One event of a watch. `kind`: ADDED, MODIFIED or DELETED."""

    version: int
    kind: str
    place: Place
    object: Object


class Objects:
    """A store with the rules that kubelet relies on: versions, uids, graceful end of pods.

    Objects that were handed out are never changed; a change puts another one in their place.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._objects: dict[Place, Object] = {}
        # The version of the first change is 2: 0 and 1 are "whatever there is" and the empty store.
        self._log: list[WatchEvent] = []
        self._watchers = 0  # a generation: raised to end all watches

    @property
    def version(self) -> int:
        """Of the last change."""
        return len(self._log) + 1

    def create(self, place: Place, manifest: Mapping[str, Any]) -> Object:
        """Adds an object and returns it as it is kept; raises Malformed, or Conflict if there is
        one already."""
        with self._changed:
            if place in self._objects:
                raise Conflict(f"{place.resource} {place.name} exists already")
            created = copy.deepcopy(dict(checked(manifest)))
            metadata = created["metadata"] = created.get("metadata") or {}
            metadata.update(name=place.name, generation=1, creationTimestamp=_now())
            metadata.setdefault("uid", str(uuid.uuid4()))
            if place.namespace:
                metadata["namespace"] = place.namespace
            return self._record("ADDED", place, created)

    def get(self, place: Place) -> Object:
        """The object at a place; raises Missing."""
        with self._changed:
            if place not in self._objects:
                raise Missing(f"{place.resource} {place.name} not found")
            return self._objects[place]

    def find(self, within: Place, fields: Mapping[str, str] | None = None) -> list[Object]:
        """All objects there whose fields (`spec.nodeName`) have these values."""
        with self._changed:
            return [self._objects[place] for place in self._places(within, fields)]

    def change(self, place: Place, how: Callable[[Object], Object]) -> Object:
        """Replaces the object by what `how` makes of a copy; raises Missing, Conflict, or
        Malformed."""
        with self._changed:
            before = self.get(place)
            after = checked(how(copy.deepcopy(before)))
            if not after.get("metadata"):
                raise Malformed(f"{place.resource} {place.name}: an object keeps its metadata")
            if after["metadata"].get("uid", "") not in ("", before["metadata"]["uid"]):
                raise Conflict(f"{place.resource} {place.name}: it has another uid by now")
            after["metadata"] |= {"uid": before["metadata"]["uid"]}
            if {**after, "metadata": _plain(after)} == {**before, "metadata": _plain(before)}:
                return before
            metadata = after["metadata"]
            done = "deletionTimestamp" in metadata and not metadata.get("finalizers")
            if done and not _is_pod(place):
                return self._drop(place, after)
            return self._record("MODIFIED", place, after)

    def remove(self, place: Place, *, uid: str = "", grace_s: int | None = None) -> Object:
        """Deletes an object: a pod that runs on a node is only marked, until its kubelet deletes it
        with no grace. Raises Missing, or Conflict for another uid."""
        with self._changed:
            current = self.get(place)
            if uid not in ("", current["metadata"]["uid"]):
                raise Conflict(f"{place.resource} {place.name}: it has another uid by now")
            grace = _grace(current, grace_s) if _is_pod(place) else 0
            if not grace and (_is_pod(place) or not current["metadata"].get("finalizers")):
                return self._drop(place, current)
            marked = copy.deepcopy(current)
            mark = {"deletionTimestamp": _now(grace), "deletionGracePeriodSeconds": grace}
            marked["metadata"] = {**mark, **marked["metadata"]}
            return self._record("MODIFIED", place, marked)

    def remove_all(self, within: Place, fields: Mapping[str, str] | None = None) -> None:
        """Deletes all objects there whose fields have these values, each as `remove` does."""
        with self._changed:
            for place in self._places(within, fields):
                self.remove(place)

    def watch(
        self, within: Place, since: int, fields: Mapping[str, str], limit_s: float
    ) -> Iterator[WatchEvent]:
        """The changes after a version as they come, until the time is over or all ends."""
        end, mine = monotonic() + limit_s, self._watchers
        while self._watchers == mine:
            with self._changed:
                fresh = self._log[max(since - 1, 0) :]
                if not fresh and not self._changed.wait(end - monotonic()):
                    return
            since += len(fresh)
            for change in fresh:
                if within.holds(change.place) and _selected(change.object, fields):
                    yield change

    def until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Waits until the condition holds, which is asked after every change; False if not."""
        with self._changed:
            return self._changed.wait_for(condition, limit_s)

    def end_watches(self) -> None:
        """Ends those that there are; a kubelet that died would leave them for minutes."""
        with self._changed:
            self._watchers += 1
            self._changed.notify_all()

    def _places(self, within: Place, fields: Mapping[str, str] | None) -> list[Place]:
        return [
            place
            for place, object in self._objects.items()
            if within.holds(place) and _selected(object, fields or {})
        ]

    def _drop(self, place: Place, last: Object) -> Object:
        del self._objects[place]
        return self._record("DELETED", place, copy.deepcopy(last))

    def _record(self, kind: str, place: Place, object: Object) -> Object:
        version = self.version + 1
        object["metadata"]["resourceVersion"] = str(version)
        if kind != "DELETED":
            self._objects[place] = object
        self._log.append(WatchEvent(version, kind, place, object))
        self._changed.notify_all()
        return object


def _selected(object: Object, fields: Mapping[str, str]) -> bool:
    return all(_field(object, path) == value for path, value in fields.items())


def _field(object: Object, path: str) -> str:
    value: Any = object
    for name in path.split("."):
        value = value.get(name, {}) if isinstance(value, dict) else {}
    return value if isinstance(value, str) else ""


def _is_pod(place: Place) -> bool:
    return place.resource == "v1/pods"


def _grace(pod: Object, wanted_s: int | None) -> int:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    # Nobody would end a pod that no kubelet has, and one that is over has ended.
    if not spec.get("nodeName") or status.get("phase") in _DONE:
        return 0
    own_s: int = spec.get("terminationGracePeriodSeconds", 30)
    return own_s if wanted_s is None else wanted_s


def _plain(object: Object) -> Object:
    return {name: each for name, each in object["metadata"].items() if name != "resourceVersion"}


def _now(later_s: int = 0) -> str:
    moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=later_s)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
