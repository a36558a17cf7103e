"""The objects of an API server: kept by place, changed by patches, followed by watches."""

from __future__ import annotations

import copy
import datetime
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Any

import attrs

__all__ = ["Change", "Conflict", "Missing", "Objects", "Place", "merged"]

Object = dict[str, Any]

# Lists that are maps to a strategic merge, by the field that names an entry (of v1.Node and v1.Pod,
# what kubelet patches). All other lists are replaced as a whole.
_KEYED = {
    "conditions": "type",
    "addresses": "type",
    "podIPs": "ip",
    "hostIPs": "ip",
    "ownerReferences": "uid",
}
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
class Change:
    """What a watch tells. `kind`: ADDED, MODIFIED or DELETED."""

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
        self._held: dict[Place, Object] = {}
        # The version of the first change is 2: 0 and 1 are "whatever there is" and the empty store.
        self._log: list[Change] = []
        self._watchers = 0  # a generation: raised to end all watches

    @property
    def version(self) -> int:
        """Of the last change."""
        return len(self._log) + 1

    def create(self, place: Place, given: Mapping[str, Any]) -> Object:
        """Adds an object; raises Conflict if there is one already."""
        with self._changed:
            if place in self._held:
                raise Conflict(f"{place.resource} {place.name} exists already")
            made = copy.deepcopy(dict(given))
            about = made.setdefault("metadata", {})
            about.update(name=place.name, generation=1, creationTimestamp=_now())
            about.setdefault("uid", str(uuid.uuid4()))
            if place.namespace:
                about["namespace"] = place.namespace
            return self._record("ADDED", place, made)

    def get(self, place: Place) -> Object:
        """Raises Missing."""
        with self._changed:
            if place not in self._held:
                raise Missing(f"{place.resource} {place.name} not found")
            return self._held[place]

    def find(self, within: Place, fields: Mapping[str, str] | None = None) -> list[Object]:
        """All objects there whose fields (`spec.nodeName`) have these values."""
        with self._changed:
            return [
                held
                for place, held in self._held.items()
                if within.holds(place) and _selected(held, fields or {})
            ]

    def change(self, place: Place, how: Callable[[Object], Object]) -> Object:
        """Replaces the object by what `how` makes of a copy; raises Missing, Conflict."""
        with self._changed:
            before = self.get(place)
            after = how(copy.deepcopy(before))
            if after["metadata"].get("uid", "") not in ("", before["metadata"]["uid"]):
                raise Conflict(f"{place.resource} {place.name}: it has another uid by now")
            after["metadata"] |= {"uid": before["metadata"]["uid"]}
            if {**after, "metadata": _plain(after)} == {**before, "metadata": _plain(before)}:
                return before
            about = after["metadata"]
            if "deletionTimestamp" in about and not about.get("finalizers") and not _pod(place):
                return self._drop(place, after)
            return self._record("MODIFIED", place, after)

    def remove(self, place: Place, *, uid: str = "", grace_s: int | None = None) -> Object:
        """Deletes an object: a pod that runs on a node is only marked, until its kubelet deletes it
        with no grace. Raises Missing, or Conflict for another uid."""
        with self._changed:
            held = self.get(place)
            if uid not in ("", held["metadata"]["uid"]):
                raise Conflict(f"{place.resource} {place.name}: it has another uid by now")
            grace = _grace(held, grace_s) if _pod(place) else 0
            if not grace and (_pod(place) or not held["metadata"].get("finalizers")):
                return self._drop(place, held)
            marked = copy.deepcopy(held)
            told = {"deletionTimestamp": _now(grace), "deletionGracePeriodSeconds": grace}
            marked["metadata"] = {**told, **marked["metadata"]}
            return self._record("MODIFIED", place, marked)

    def watch(
        self, within: Place, since: int, fields: Mapping[str, str], limit_s: float
    ) -> Iterator[Change]:
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

    def _drop(self, place: Place, held: Object) -> Object:
        del self._held[place]
        return self._record("DELETED", place, copy.deepcopy(held))

    def _record(self, kind: str, place: Place, held: Object) -> Object:
        version = self.version + 1
        held["metadata"]["resourceVersion"] = str(version)
        if kind != "DELETED":
            self._held[place] = held
        self._log.append(Change(version, kind, place, held))
        self._changed.notify_all()
        return held


def merged(before: Any, patch: Any, *, strategic: bool) -> Any:
    """`before` with a merge patch (RFC 7386) on it, or with a strategic one of Kubernetes, as far
    as kubelet makes them."""
    if not isinstance(patch, dict):
        return patch
    after = dict(before) if isinstance(before, dict) else {}
    for name, value in patch.items():
        if strategic and name.startswith("$"):  # orders and retained keys: order tells nothing here
            continue
        if value is None:
            after.pop(name, None)
        elif strategic and name in _KEYED and isinstance(value, list):
            after[name] = _by_key(after.get(name) or [], value, _KEYED[name])
        else:
            after[name] = merged(after.get(name), value, strategic=strategic)
    return after


def _by_key(before: list[Any], patch: list[Any], key: str) -> list[Any]:
    if any(entry.get("$patch") == "replace" for entry in patch):
        return [entry for entry in patch if "$patch" not in entry]
    after = {entry[key]: entry for entry in before}
    for entry in patch:
        if entry.get("$patch") == "delete":
            after.pop(entry[key], None)
        else:
            after[entry[key]] = merged(after.get(entry[key]), entry, strategic=True)
    return list(after.values())


def _selected(held: Object, fields: Mapping[str, str]) -> bool:
    return all(_field(held, path) == value for path, value in fields.items())


def _field(held: Any, path: str) -> str:
    for name in path.split("."):
        held = held.get(name, {}) if isinstance(held, dict) else {}
    return held if isinstance(held, str) else ""


def _pod(place: Place) -> bool:
    return place.resource == "v1/pods"


def _grace(pod: Object, wanted: int | None) -> int:
    # Nobody would end a pod that no kubelet has, and one that is over has ended.
    if not pod["spec"].get("nodeName") or pod.get("status", {}).get("phase") in _DONE:
        return 0
    own: int = pod["spec"].get("terminationGracePeriodSeconds", 30)
    return own if wanted is None else wanted


def _plain(held: Object) -> Object:
    return {name: each for name, each in held["metadata"].items() if name != "resourceVersion"}


def _now(later_s: int = 0) -> str:
    moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=later_s)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
