"""Our fakes under test, as cases get them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from conformance.cni.fakes import open_fakes
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case_of
from conformance.engine.scope import CaseScope
from tests.targets import resolved


def as_a_case_gets_it(function: Callable[..., object]) -> Iterator[PluginUnderTest]:
    """The fake plugin that this case needs; its scope and the target are closed afterwards."""
    case = case_of(function)
    assert case is not None
    under_test = resolved("cni", run_id="run")
    target, scope = open_fakes(under_test), CaseScope()
    yield target.plugins.for_case(case, scope, under_test)
    scope.close()
    target.close()
