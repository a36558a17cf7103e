"""Fixtures of the CNI cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pytest

from conformance.cni.needs import RUNTIME_NETNS
from conformance.cni.plugins.plugin import Plugin
from conformance.cni.runtimes.bench import Runtime
from conformance.cni.runtimes.target import RuntimeTarget
from conformance.cni.target import CniTarget
from conformance.engine.case import case_of
from conformance.engine.session import judge_of

if TYPE_CHECKING:
    from conformance.cni.networks.documents import Documents, DocumentsTarget


@pytest.fixture
def cni(request: pytest.FixtureRequest) -> CniTarget:
    """The target as a whole."""
    return cast("CniTarget", judge_of(request.config).target("cni"))


@pytest.fixture
def plugin(request: pytest.FixtureRequest, cni: CniTarget) -> Iterator[Plugin]:
    """The plugin under test, of the kind the case needs; what a case attaches it detaches."""
    case = case_of(request.function)
    assert case is not None
    found = cni.plugin_for(case)
    yield found
    found.clean_up()


@pytest.fixture
def documents(request: pytest.FixtureRequest) -> Documents:
    """The network configurations under test."""
    target = judge_of(request.config).target("cni")
    return cast("CniTarget | DocumentsTarget", target).documents


@pytest.fixture
def runtime(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """The runtime under test; the networks and pods of a case go with it."""
    target = cast("CniTarget | RuntimeTarget", judge_of(request.config).target("cni"))
    case = case_of(request.function)
    if case and RUNTIME_NETNS in case.needs:
        target.bench.subject.enter()
    found = target.bench.runtime()
    yield found
    found.clean_up()
