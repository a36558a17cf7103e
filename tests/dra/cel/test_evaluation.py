"""Values that Kubernetes' own evaluator gives, of each library and in odd corners."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from refimpl.dra.cel import Device, EvaluationError, ExpressionError, compiled, selector

SAID = tomllib.loads((Path(__file__).parent / "expressions.toml").read_text())


@pytest.mark.parametrize("expression", SAID["true"])
def test_an_expression_is_true(expression: str, device: Device) -> None:
    """As it is for cel-go with the libraries of Kubernetes."""
    assert compiled(expression, list_attributes=True).matches(device)


@pytest.mark.parametrize("expression", SAID["error"])
def test_an_expression_has_no_value(expression: str, device: Device) -> None:
    """An error, never an exception of Python."""
    with pytest.raises(EvaluationError):
        compiled(expression, list_attributes=True).matches(device)


@pytest.mark.parametrize("expression", SAID["refused"])
def test_a_new_expression_is_refused(expression: str) -> None:
    """And what is wrong is told, with its place in the text."""
    with pytest.raises(ExpressionError, match=SAID["refused"][expression]) as refused:
        selector(expression)
    assert -1 <= refused.value.at <= len(expression)


def test_what_is_nested_too_deeply_is_refused() -> None:
    """Instead of the end of the process."""
    with pytest.raises(ExpressionError):
        compiled("(" * 5000 + "true" + ")" * 5000)
    with pytest.raises(ExpressionError):
        compiled("!(" * 3000 + "true" + ")" * 3000)


def test_names_without_a_domain_have_the_drivers(device: Device) -> None:
    """And those with one theirs."""
    other = Device.of("d", {"attributes": {"a": {"int": 1}, "x.org/b": {"int": 2}}})
    assert compiled('device.attributes["d"].a + device.attributes["x.org"].b == 3').matches(other)
    assert not compiled('"z" in device.attributes').matches(device)


def test_an_attribute_without_a_value_is_an_error() -> None:
    """It has one of eight."""
    with pytest.raises(ValueError, match="an attribute has one of"):
        Device.of("d", {"attributes": {"a": {}}})
