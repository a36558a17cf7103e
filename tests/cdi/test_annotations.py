"""Requests in annotations are written and read as runtimes do it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.cdi import annotations
from refimpl.cdi.annotations import AnnotationError, key_problem, parse, requested, update

GPU0, GPU1, NIC = "vendor.com/gpu=0", "vendor.com/gpu=1", "o.com/nic=a"


@pytest.mark.parametrize(
    ("plugin", "device_id", "key"),
    [
        ("vendor.gpu", "0", "cdi.k8s.io/vendor.gpu_0"),
        ("p", "a/b/c", "cdi.k8s.io/p_a_b_c"),
        ("p", "x" * 61, "cdi.k8s.io/p_" + "x" * 61),
    ],
)
def test_a_key_names_plugin_and_allocation(plugin: str, device_id: str, key: str) -> None:
    """CDI-056: 63 characters at most, slashes of the id replaced."""
    assert annotations.key(plugin, device_id) == key


@pytest.mark.parametrize(
    ("plugin", "device_id", "message"),
    [
        ("", "0", "plugin is empty"),
        ("p", "", "device id is empty"),
        ("p", "x" * 62, "has 64 bytes"),
        ("_p", "0", "no name for a key"),
        ("p", "0_", "no name for a key"),
        ("p", "a b", "no name for a key"),
        ("p/q", "0", "no name for a key"),
        ("p", "ü", "no name for a key"),
    ],
)
def test_what_is_no_key_is_refused(plugin: str, device_id: str, message: str) -> None:
    """CDI-056."""
    with pytest.raises(AnnotationError, match=message):
        annotations.key(plugin, device_id)


def test_a_request_is_added_without_changing_what_was_given() -> None:
    """CDI-056: a key in use is refused, a bad name as well."""
    given_before = {"other": "x"}
    updated = update(given_before, "p", "0", [GPU0, GPU1])
    assert updated == {"other": "x", "cdi.k8s.io/p_0": f"{GPU0},{GPU1}"}
    assert given_before == {"other": "x"}
    with pytest.raises(AnnotationError, match="is in use"):
        update(updated, "p", "0", [NIC])
    with pytest.raises(AnnotationError, match="no qualified device name"):
        update({}, "p", "0", ["gpu"])


def test_requests_are_read_in_the_order_of_their_keys() -> None:
    """A map has no order of its own; the same pod must not give another container each time."""
    annotations_found = {"cdi.k8s.io/b": f"{NIC}", "x": "y", "cdi.k8s.io/a": f"{GPU1},{GPU0}"}
    assert parse(annotations_found) == (["cdi.k8s.io/a", "cdi.k8s.io/b"], [GPU1, GPU0, NIC])
    assert parse({"x": "y"}) == ([], [])


@pytest.mark.parametrize("value", ["", f"{GPU0}, {GPU1}", f"{GPU0},", "gpu", f"{GPU0};{GPU1}"])
def test_one_bad_name_spoils_all_requests(value: str) -> None:
    """CDI-057: the error names the annotation."""
    with pytest.raises(AnnotationError, match=r"annotation 'cdi\.k8s\.io/b'"):
        parse({"cdi.k8s.io/a": GPU0, "cdi.k8s.io/b": value})


def test_the_field_comes_first_and_annotations_add_what_is_missing() -> None:
    """CDI-054: CRI-O keeps a name repeated within the field."""
    notes = {"cdi.k8s.io/a": f"{GPU0},{NIC},{NIC}"}
    assert requested([GPU1, GPU0, GPU0], notes) == [GPU1, GPU0, NIC]
    assert requested([GPU1, GPU0, GPU0], notes, unique=False) == [GPU1, GPU0, GPU0, NIC]
    assert requested([], {}) == []


@pytest.mark.parametrize(
    ("name", "sound"),
    [("a", True), ("A.b_c-d", True), ("x.com/a", True), ("X.com/a", True), ("x" * 63, True),
     ("x" * 64, False), ("", False), ("x/", False), ("/x", False), ("a/b/c", False),
     ("-a", False), ("a_", False), ("x..com/a", False), ("a b", False)],
)  # fmt: skip
def test_keys_of_any_annotation_follow_kubernetes(name: str, sound: bool) -> None:
    """CDI-021: a name, with a DNS subdomain before it."""
    assert (key_problem(name) == "") is sound


_DEVICES = st.lists(st.sampled_from([GPU0, GPU1, NIC]), min_size=1, max_size=4)


@given(st.dictionaries(st.sampled_from(["0", "1", "a/b"]), _DEVICES))
def test_what_is_written_is_read(allocations: dict[str, list[str]]) -> None:
    """All devices of all allocations, none more."""
    notes: dict[str, str] = {}
    for device_id, devices in allocations.items():
        notes = update(notes, "p", device_id, devices)
    keys, devices = parse(notes)
    assert keys == sorted(notes)
    assert sorted(devices) == sorted(device for names in allocations.values() for device in names)
