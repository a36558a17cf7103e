"""Policies: their configuration. What they choose is in the vectors and the brute force."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.deviceplugin.state.hints import Hint
from refimpl.deviceplugin.state.merge import policy_of

CLOSEST = "prefer-closest-numa-nodes"
ALLOWED = "max-allowable-numa-nodes"


def test_policy_none_admits_all_without_a_placement() -> None:
    """Whatever the hints say."""
    merged = policy_of("none", range(9)).merge([{"r": ()}])
    assert merged.admitted
    assert merged.hint == Hint(None, False)


@pytest.mark.parametrize(
    ("name", "nodes", "more", "text"),
    [
        ("strict", [0], {}, "no topology policy 'strict'"),
        ("none", [0], {"options": {"odd": "1"}}, "policy option odd"),
        ("none", [0], {"options": {ALLOWED: "7"}}, "'7' is no number from 8"),
        ("none", [0], {"options": {ALLOWED: "many"}}, "'many' is no number"),
        ("none", [0], {"options": {CLOSEST: "maybe"}}, "neither true nor false"),
        ("restricted", [0, 1], {"options": {CLOSEST: "true"}}, "needs the distances"),
        ("restricted", [0, 64], {}, "from 0 to 63"),
        ("restricted", range(9), {}, "9 NUMA nodes are more than 8"),
        ("none", [0], {"options": {ALLOWED: "9"}, "known": ()}, "knows no policy option"),
    ],
)
def test_a_configuration_that_kubelet_does_not_start_with(
    name: str, nodes: Any, more: dict[str, Any], text: str
) -> None:
    """Better at the start than at the first pod."""
    with pytest.raises(ValueError, match=text):
        policy_of(name, nodes, **more)


def test_options_are_taken_as_configured() -> None:
    """Both at once."""
    distances = {node: [10] * 9 for node in range(9)}
    options = {CLOSEST: "True", ALLOWED: "9"}
    policy = policy_of("restricted", range(9), distances=distances, options=options)
    assert policy.closest
    assert policy.nodes == tuple(range(9))
