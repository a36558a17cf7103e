"""Objects as they are sent: their shape, and patches of them."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.apiserver.manifests import Malformed, checked, merged


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        ([], "an object is expected, not list"),
        ({"metadata": 5}, "metadata is an object, not 5"),
        ({"spec": "x"}, "spec is an object, not 'x'"),
        ({"status": [1]}, "status is an object, not"),
        ({"metadata": {"name": 1}}, "metadata.name is text, not 1"),
    ],
)
def test_what_has_not_the_shape_of_an_object_is_told(manifest: Any, complaint: str) -> None:
    """With what is wrong."""
    with pytest.raises(Malformed, match=complaint):
        checked(manifest)


def test_what_is_left_out_is_no_fault() -> None:
    """Nor what is null, which Go writes for it."""
    for manifest in ({}, {"metadata": None}, {"kind": "Pod", "metadata": {"name": "p"}}):
        assert checked(manifest) is manifest


@pytest.mark.parametrize(
    ("patch", "strategic", "after"),
    [
        ({"a": None, "c": {"d": 1}}, False, {"l": [1], "c": {"b": 2, "d": 1}}),
        ({"l": [2]}, True, {"a": 1, "l": [2], "c": {"b": 2}}),
        ({"$retainKeys": ["a"]}, True, {"a": 1, "l": [1], "c": {"b": 2}}),
    ],
)
def test_patches_merge_maps_and_replace_lists(
    patch: dict[str, Any], strategic: bool, after: dict[str, Any]
) -> None:
    """Null removes."""
    assert merged({"a": 1, "l": [1], "c": {"b": 2}}, patch, strategic=strategic) == after


@pytest.mark.parametrize(
    ("patch", "after"),
    [
        ([{"type": "B", "s": 2}], [{"type": "A", "s": 1, "r": 1}, {"type": "B", "s": 2}]),
        ([{"type": "A", "s": 3}], [{"type": "A", "s": 3, "r": 1}]),
        ([{"type": "A", "$patch": "delete"}], []),
        ([{"type": "C"}, {"$patch": "replace"}], [{"type": "C"}]),
    ],
)
def test_conditions_are_merged_by_type(
    patch: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    """Which a strategic patch does, and kubelet relies on."""
    before = {"conditions": [{"type": "A", "s": 1, "r": 1}]}
    assert merged(before, {"conditions": patch}, strategic=True) == {"conditions": after}


@pytest.mark.parametrize("entries", [[1], [{"s": 1}], ["A"]])
def test_a_list_without_its_key_cannot_be_merged(entries: list[Any]) -> None:
    """Nobody knows which entry is meant."""
    with pytest.raises(Malformed, match="an object with type"):
        merged({}, {"conditions": entries}, strategic=True)
