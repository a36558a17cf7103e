"""Fixtures of the CNI cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from conformance.cni.needs import RUNTIME_NETNS
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.engine.case import case_of
from conformance.engine.judging.session import judge_of

if TYPE_CHECKING:
    from conformance.cni.networks.documents import Documents
    from conformance.cni.target import CniTarget


@pytest.fixture
def cni(request: pytest.FixtureRequest) -> CniTarget:
    """The target as a whole."""
    return cast("CniTarget", judge_of(request.config).target("cni"))


@pytest.fixture
def plugin(request: pytest.FixtureRequest, cni: CniTarget) -> PluginUnderTest:
    """The plugin under test, of the kind the case needs; what a case attaches it detaches."""
    case = case_of(request.function)
    assert case is not None
    return cni.plugins.for_case(case, judge_of(request.config).scope, cni.resolved)


@pytest.fixture
def documents(cni: CniTarget) -> Documents:
    """The network configurations under test."""
    return cni.documents


@pytest.fixture
def runtime(request: pytest.FixtureRequest, cni: CniTarget) -> RuntimeUnderTest:
    """The runtime under test; the networks and pods of a case go with it."""
    case = case_of(request.function)
    if case and RUNTIME_NETNS in case.needs:
        cni.bench.subject.enter()
    return RuntimeUnderTest(cni.bench, judge_of(request.config).scope)
