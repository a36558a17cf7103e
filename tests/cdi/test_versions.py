"""What a document uses, and the version it has to declare for that."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.cdi import versions
from refimpl.cdi.versions import FEATURES, FLOOR, VERSIONS, at_least, known, minimum_version

EDITS: list[tuple[str, dict[str, Any]]] = [
    ("0.3.0", {"env": ["A=b"], "deviceNodes": [{"path": "/dev/x"}]}),
    ("0.4.0", {"mounts": [{"hostPath": "/a", "containerPath": "/b", "type": "bind"}]}),
    ("0.5.0", {"deviceNodes": [{"path": "/dev/x", "hostPath": "/dev/y"}]}),
    ("0.7.0", {"intelRdt": {}}),
    ("0.7.0", {"additionalGids": [5]}),
    ("1.1.0", {"netDevices": [{"hostInterfaceName": "a", "name": "b"}]}),
    ("1.1.0", {"intelRdt": {"schemata": ["L3:0=f"]}}),
    ("1.1.0", {"intelRdt": {"enableMonitoring": True}}),
]


@pytest.mark.parametrize(("since", "edits"), EDITS)
def test_edits_need_the_version_that_brought_them(since: str, edits: dict[str, Any]) -> None:
    """Wherever they stand: for the whole file or for a device."""
    assert minimum_version({"containerEdits": edits}) == since
    assert minimum_version({"devices": [{"name": "d", "containerEdits": edits}]}) == since


@pytest.mark.parametrize(
    ("since", "document"),
    [
        ("0.3.0", {"kind": "vendor.com/gpu", "devices": [{"name": "gpu0"}]}),
        ("0.5.0", {"devices": [{"name": "0"}]}),
        ("0.5.0", {"devices": [{"name": 0}]}),
        ("0.6.0", {"kind": "vendor.com/gpu.big"}),
        ("0.3.0", {"kind": "vendor.com"}),
        ("0.6.0", {"annotations": {"a": "b"}}),
        ("0.6.0", {"devices": [{"name": "d", "annotations": {"a": "b"}}]}),
    ],
)
def test_documents_need_the_version_that_allows_them(since: str, document: Any) -> None:
    """Digits first, dots in the class, annotations."""
    assert minimum_version(document) == since


@pytest.mark.parametrize(
    ("lax", "strict", "edits"),
    [
        ("0.7.0", "1.1.0", {"intelRdt": {"enableMonitoring": False}}),
        ("0.3.0", "0.5.0", {"deviceNodes": [{"path": "/x", "hostPath": ""}]}),
        ("0.3.0", "1.1.0", {"netDevices": []}),
        ("1.1.0", "1.1.0", {"intelRdt": {"schemata": []}}),
    ],
)
def test_an_empty_member_is_a_use_only_by_its_presence(
    lax: str, strict: str, edits: dict[str, Any]
) -> None:
    """The library looks at values; a reader of the older version does not know the name."""
    assert minimum_version({"containerEdits": edits}) == lax
    assert minimum_version({"containerEdits": edits}, presence=True) == strict


def test_versions_are_known_with_and_without_a_v() -> None:
    """Nothing is taken for a version that never was one."""
    assert all(known(version) and known(f"v{version}") for version in VERSIONS)
    assert not any(known(text) for text in ("", "0.6", "1.2.0", "vv1.0.0", "1.0.0 ", "V1.0.0"))
    assert at_least("v1.0.0", "0.8.0")
    assert not at_least("0.8.0", "1.0.0")
    with pytest.raises(ValueError, match="not in tuple"):
        at_least("9.9.9", FLOOR)


def test_every_feature_came_after_the_floor() -> None:
    """The table is what the versions are about; it names every one of them but the moves."""
    since = {feature.since for features in FEATURES.values() for feature in features}
    assert since == set(VERSIONS[3:]) - {"0.8.0", "1.0.0"}
    assert VERSIONS[2] == FLOOR


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
_EDIT = st.sampled_from([edits for _, edits in EDITS])
_DEVICE = st.fixed_dictionaries({"name": st.sampled_from(["a", "0"])}, optional={
    "annotations": st.just({"a": "b"}), "containerEdits": _EDIT})  # fmt: skip
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["a/b", "a/b.c"]),
        "annotations": st.just({"a": "b"}),
        "containerEdits": _EDIT,
        "devices": st.lists(_DEVICE, max_size=3),
    },
)


@given(DOCUMENTS, _DEVICE)
def test_a_document_that_grows_never_needs_less(document: dict[str, Any], device: Any) -> None:
    """CDI-059: one more device raises the minimum or leaves it."""
    grown = copy.deepcopy(document)
    grown.setdefault("devices", []).append(device)
    old, new = minimum_version(document), minimum_version(grown)
    assert at_least(new, old)
    assert at_least(new, minimum_version({"devices": [device]}))
    assert at_least(minimum_version(document, presence=True), old)


@given(ANYTHING)
def test_the_minimum_is_a_version_whatever_the_document(value: Any) -> None:
    """Garbage needs the floor, not an exception."""
    assert minimum_version(value, presence=True) in VERSIONS
    assert list(versions.uses(value)) == list(versions.uses(value))
