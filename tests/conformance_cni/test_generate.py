"""The strategies for documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from conformance.cni import generate
from refimpl.cni.contract import LATEST, VERSIONS, Result, error_problems
from refimpl.cni.contract.shapes import members

SAME = settings(
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    max_examples=100,
    suppress_health_check=list(HealthCheck),
)


def drawn(strategy: st.SearchStrategy[Any]) -> list[Any]:
    """The same hundred values in every run."""
    values: list[Any] = []

    @SAME
    @given(strategy)
    def collect(value: Any) -> None:
        values.append(value)

    collect()
    return values


def elements(documents: list[Any], name: str) -> Iterator[Any]:
    return (each for document in documents for each in document.get(name, []))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_member_of_a_version_is_generated(version: str) -> None:
    """A strategy that never makes a member tests nothing about it."""
    names = {name for document in drawn(generate.documents(version)) for name in document}
    assert names >= members("result", version).keys()


@pytest.mark.parametrize(
    ("name", "shape"), [("interfaces", "interface"), ("ips", "address"), ("routes", "route")]
)
def test_every_member_of_an_element_is_generated(name: str, shape: str) -> None:
    """At the latest version, and unknown ones beside them."""
    document = drawn(generate.documents(LATEST))
    names = {inner for element in elements(document, name) for inner in element}
    assert names > members(shape, LATEST).keys()


@given(generate.results(LATEST, unknown=False, sandboxes=("/run/netns/red",)))
def test_the_arguments_are_kept(result: Result) -> None:
    """No unknown members, and the sandboxes that were asked for."""
    assert not result.extra
    assert {each.sandbox for each in result.interfaces} <= {"", "/run/netns/red"}


@pytest.mark.parametrize("version", VERSIONS[:2])
@given(data=st.data())
def test_results_of_the_first_versions_have_an_address(version: str, data: st.DataObject) -> None:
    """Without one they could not be converted back."""
    assert data.draw(generate.results(version)).ips


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
def test_generated_errors_have_no_problem(version: str, data: st.DataObject) -> None:
    """In every version."""
    assert error_problems(data.draw(generate.error_documents(version)), version) == []
