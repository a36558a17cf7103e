"""Features and the documents that use them."""

from __future__ import annotations

import pytest

from conformance.cdi.features import FEATURES, VersionFeature, combined, needed
from refimpl import cdi
from refimpl.cdi import versions
from refimpl.documents import json as documents


def test_every_feature_of_the_library_is_there() -> None:
    """What came later to the one has to come to the other."""
    listed = {
        (each.since, each.what)
        for features in versions.FEATURES.values()
        for each in features
        for features in versions.FEATURES.values()
        for feature in features
    }
    ours = {(feature.since, feature.label) for feature in FEATURES}
    assert ours == listed


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.label)
def test_a_feature_needs_its_version(feature: VersionFeature) -> None:
    """In the edits of a device and of the whole file."""
    for of_spec in (False, True):
        document = feature.document(feature.since, of_spec=of_spec)
        assert cdi.minimum_version(document) == feature.since or (of_spec and not feature.edits)
    assert versions.at_least(feature.since, feature.before)
    assert feature.before != feature.since


def test_all_features_together_need_the_newest_version() -> None:
    """And make one sound document."""
    whole = combined(list(FEATURES), "1.1.0")
    assert cdi.parse(documents.dump(whole), policy="strict").version == needed(list(FEATURES))
    assert needed([]) == "0.3.0"
