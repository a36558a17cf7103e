"""The store behind the API server: what kubelet relies on."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from refimpl.apiserver.manifests import Malformed, merged
from refimpl.apiserver.objects import Conflict, Missing, Objects, Place

POD = Place("v1/pods", "default", "p")
NODE = Place("v1/nodes", "", "n")


def pod(**spec: Any) -> dict[str, Any]:
    """One that is bound to a node."""
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {}, "spec": {"nodeName": "n", **spec}}


def test_an_object_gets_what_a_server_gives_it() -> None:
    """Name, namespace, a uid unless it has one, a time and a version."""
    metadata = Objects().create(POD, pod())["metadata"]
    names = metadata["name"], metadata["namespace"], metadata["generation"]
    assert names == ("p", "default", 1)
    assert metadata["uid"]
    assert metadata["resourceVersion"] == "2"
    manifest = {"metadata": {"uid": "mine"}}
    assert Objects().create(NODE, manifest)["metadata"]["uid"] == "mine"


def test_a_name_is_there_once() -> None:
    """In its namespace, that is."""
    objects = Objects()
    objects.create(POD, pod())
    with pytest.raises(Conflict, match="v1/pods p exists already"):
        objects.create(POD, pod())
    objects.create(Place("v1/pods", "other", "p"), pod())


def test_objects_are_found_by_place_and_fields() -> None:
    """As kubelet asks for the pods of its node."""
    objects = Objects()
    objects.create(POD, pod())
    objects.create(Place("v1/pods", "other", "q"), pod(nodeName="m"))
    assert len(objects.find(Place("v1/pods"))) == 2
    assert len(objects.find(Place("v1/pods", "other"))) == 1
    (object,) = objects.find(Place("v1/pods"), {"spec.nodeName": "n"})
    assert object["metadata"]["name"] == "p"


def test_a_running_pod_is_marked_and_then_removed_by_its_kubelet() -> None:
    """First with its own grace, at last with none."""
    objects = Objects()
    objects.create(POD, pod(terminationGracePeriodSeconds=3))
    assert objects.remove(POD)["metadata"]["deletionGracePeriodSeconds"] == 3
    marked = objects.get(POD)["metadata"]
    assert objects.remove(POD)["metadata"]["deletionTimestamp"] == marked["deletionTimestamp"]
    objects.remove(POD, grace_s=0)
    with pytest.raises(Missing):
        objects.get(POD)


@pytest.mark.parametrize("manifest", [pod(nodeName=""), {**pod(), "status": {"phase": "Failed"}}])
def test_a_pod_that_nobody_has_to_end_is_removed_at_once(manifest: dict[str, Any]) -> None:
    """It has no node, or is over."""
    objects = Objects()
    objects.create(POD, manifest)
    objects.remove(POD)
    assert objects.find(Place("v1/pods")) == []


def test_an_object_stays_for_its_finalizers() -> None:
    """Until the last one is taken away."""
    objects = Objects()
    objects.create(NODE, {"metadata": {"finalizers": ["x"]}})
    objects.remove(NODE)
    assert "deletionTimestamp" in objects.get(NODE)["metadata"]
    objects.change(NODE, lambda old: merged(old, {"metadata": {"finalizers": []}}, strategic=False))
    assert objects.find(Place("v1/nodes")) == []


def test_another_uid_is_another_object() -> None:
    """For removals and for changes."""
    objects = Objects()
    objects.create(POD, {**pod(), "metadata": {"uid": "1"}})
    with pytest.raises(Conflict, match="another uid"):
        objects.remove(POD, uid="2")
    with pytest.raises(Conflict, match="another uid"):
        objects.change(POD, lambda old: {**old, "metadata": {"uid": "2"}})


def test_a_change_that_changes_nothing_is_none() -> None:
    """Watchers do not hear of it."""
    objects = Objects()
    before = objects.create(POD, pod())
    assert objects.change(POD, lambda old: old) is before
    assert objects.version == 2


def test_a_watch_tells_what_has_come_and_what_comes() -> None:
    """Of its place and its fields, after its version."""
    objects = Objects()
    objects.create(NODE, {"metadata": {}})
    objects.create(POD, pod())
    watch = objects.watch(Place("v1/pods"), 1, {"spec.nodeName": "n"}, 60)
    changes = [next(watch)]
    objects.change(POD, lambda old: {**old, "status": {}})
    objects.remove(POD, grace_s=0)
    changes += [next(watch), next(watch)]
    assert [(each.kind, each.version) for each in changes] == [
        ("ADDED", 3),
        ("MODIFIED", 4),
        ("DELETED", 5),
    ]


def test_watches_can_be_ended() -> None:
    """Those that wait, and those that are in the middle of something."""
    objects = Objects()
    objects.create(POD, pod())
    busy = objects.watch(Place("v1/pods"), 0, {}, 60)
    assert next(busy).kind == "ADDED"
    idle = threading.Thread(target=lambda: list(objects.watch(Place("v1/nodes"), 2, {}, 60)))
    idle.start()
    while idle.is_alive():  # it may not have begun when the first call comes
        objects.end_watches()
    assert list(busy) == []


def test_waiting_for_a_condition_has_an_end() -> None:
    """It is looked at again after each change."""
    objects = Objects()
    adding = threading.Thread(target=lambda: objects.create(POD, pod()))
    adding.start()
    assert objects.until(lambda: objects.version == 2, 10)
    adding.join()
    assert not objects.until(lambda: objects.version == 3, 0.01)


def test_a_watch_is_over_in_its_time() -> None:
    """Also if nothing happens."""
    assert list(Objects().watch(Place("v1/pods"), 0, {}, 0.01)) == []


@pytest.mark.parametrize("metadata", [None, {"uid": 5}, []])
def test_an_object_keeps_its_metadata(metadata: object) -> None:
    """Whatever a patch says."""
    objects = Objects()
    objects.create(NODE, {"metadata": {}})
    with pytest.raises(Malformed):
        objects.change(NODE, lambda old: {**old, "metadata": metadata})
    assert objects.version == 2


def test_all_objects_of_a_place_can_be_removed() -> None:
    """Also those whose kind nobody knows."""
    objects = Objects()
    for name in ("n", "m"):
        objects.create(Place("example.com/v1/widgets", "", name), {"spec": {"nodeName": name}})
    widgets = Place("example.com/v1/widgets")
    objects.remove_all(widgets, {"spec.nodeName": "n"})
    assert [each["metadata"]["name"] for each in objects.find(widgets)] == ["m"]
