"""Quantities and semantic versions. Source: Kubernetes documentation, "CEL in Kubernetes",
quantity and semver libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.functions.tables import Table
from refimpl.dra.quantity import NANO, Quantity
from refimpl.dra.semver import Semver

__all__ = ["AMOUNTS"]


def _read(parse: Callable[..., Any]) -> Callable[..., Any]:
    def compute(text: str, *lenient: bool) -> Any:
        try:
            return parse(text, *lenient)
        except ValueError as error:
            raise EvaluationError(str(error)) from None

    return compute


def _reads(parse: Callable[..., Any]) -> Callable[..., bool]:
    def compute(text: str, *lenient: bool) -> bool:
        try:
            parse(text, *lenient)
        except ValueError:
            return False
        return True

    return compute


def _semver(text: str, lenient: bool = False) -> Semver:
    return Semver.parse(text, lenient=lenient)


def _order(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


def _whole(amount: Quantity) -> int:
    if amount.whole is None:
        raise EvaluationError("cannot convert value to integer")
    return amount.whole


def _ordered(type: str) -> Table:
    return {
        f"{type}::isGreaterThan({type}) bool": lambda one, other: one > other,
        f"{type}::isLessThan({type}) bool": lambda one, other: one < other,
        f"{type}::compareTo({type}) int": _order,
    }


_Q, _S = Quantity.cel_type, Semver.cel_type

AMOUNTS: Table = {
    f"quantity(string) {_Q}": _read(Quantity.parse),
    "isQuantity(string) bool": _reads(Quantity.parse),
    f"sign({_Q}) int": lambda amount: amount.sign,
    f"{_Q}::asApproximateFloat() double": lambda amount: amount.nano / NANO,
    f"{_Q}::asInteger() int": _whole,
    f"{_Q}::isInteger() bool": lambda amount: amount.whole is not None,
    f"{_Q}::add({_Q}) {_Q}": lambda one, other: Quantity(one.nano + other.nano, computed=True),
    f"{_Q}::add(int) {_Q}": lambda one, other: Quantity(one.nano + other * NANO, computed=True),
    f"{_Q}::sub({_Q}) {_Q}": lambda one, other: Quantity(one.nano - other.nano, computed=True),
    f"{_Q}::sub(int) {_Q}": lambda one, other: Quantity(one.nano - other * NANO, computed=True),
    **_ordered(_Q),
    f"semver(string) {_S}": _read(_semver),
    f"semver(string, bool) {_S}": _read(_semver),
    "isSemver(string) bool": _reads(_semver),
    "isSemver(string, bool) bool": _reads(_semver),
    f"{_S}::major() int": lambda version: version.numbers[0],
    f"{_S}::minor() int": lambda version: version.numbers[1],
    f"{_S}::patch() int": lambda version: version.numbers[2],
    **_ordered(_S),
}
