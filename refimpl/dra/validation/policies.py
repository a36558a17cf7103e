"""How much of a capacity may be asked for. Source: resource.k8s.io/v1 CapacityRequestPolicy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refimpl.dra.quantity import NANO, Quantity
from refimpl.dra.validation.problems import At, Reason, at_most

__all__ = ["request_policy"]

_MOST_VALUES = 10
_LARGEST = (1 << 63) - 1


def request_policy(
    at: At, policy: Mapping[str, Any], capacity: Quantity, *, fractional: bool
) -> None:
    """fractional: thousandths count (DRAFractionalCapacityRange); else all is rounded up first."""
    values, span = policy.get("validValues"), policy.get("validRange")
    if values and span is not None:
        at.note(Reason.FORBIDDEN, "has validValues or validRange, not both")
        return
    default = None if policy.get("default") is None else Quantity.parse(str(policy["default"]))
    if (values or span is not None) and default is None:
        at.field("default").note(Reason.REQUIRED, "has to be given with validValues or validRange")
    if values:
        _values(at.field("validValues"), values, default, capacity)
    if span is not None:
        _range(at.field("validRange"), span, default, capacity, fractional)


def _values(at: At, values: list[str], default: Quantity | None, capacity: Quantity) -> None:
    # Too many are not looked at, and the default is not found among them.
    amounts = (
        [Quantity.parse(str(each)) for each in values] if at_most(at, values, _MOST_VALUES) else []
    )
    for index, amount in enumerate(amounts):
        place = at.index(index)
        if amount > capacity:
            place.invalid(f"{values[index]} is above the capacity, {capacity}")
        if amount in amounts[:index]:
            place.note(Reason.DUPLICATE, f"{values[index]} is there already")
        elif index and amount < amounts[index - 1]:
            place.invalid(f"{values[index]} is below the value before: they have to rise")
    if default is not None and default not in amounts:
        at.invalid(f"{default} is the default, and not among them")


def _range(
    at: At, span: Mapping[str, Any], default: Quantity | None, capacity: Quantity, fractional: bool
) -> None:
    if span.get("min") is None:
        at.field("min").note(Reason.REQUIRED, "has to be given")
        return
    parsed = {
        name: Quantity.parse(str(span[name]))
        for name in ("min", "max", "step")
        if span.get(name) is not None
    }
    low, high = parsed["min"], parsed.get("max")
    if low > capacity:
        at.field("min").invalid(f"{low} is above the capacity, {capacity}")
    if high is not None and high > capacity:
        at.field("max").invalid(f"{high} is above the capacity, {capacity}")
    if high is not None and low > high:
        at.field("max").invalid(f"{high} is below min, {low}")
    if default is not None and (default < low or (high is not None and default > high)):
        at.field("default").invalid(f"{default} is the default, and not in the range")
    if "step" in parsed:
        _steps(at, parsed, default, capacity, 1000 if fractional else 1)


def _steps(
    at: At,
    span: Mapping[str, Quantity],
    default: Quantity | None,
    capacity: Quantity,
    parts: int,
) -> None:
    """parts: of a whole that are counted."""

    def counted(amount: Quantity) -> int:
        return -(-amount.nano * parts // NANO)

    place = at.field("step")
    low, step = counted(span["min"]), counted(span["step"])
    for name, amount in span.items():
        if not 0 <= amount.nano <= _LARGEST * NANO:
            at.field(name).invalid(f"{amount} is not from 0 to 2^63-1")
            return
    if parts > 1:
        for name, amount in span.items():
            if amount.nano * parts % NANO:
                at.field(name).invalid(f"{amount} is finer than a thousandth")
                return
    if step <= 0:
        place.invalid(f"{span['step']} is not above zero")
        return
    if span["min"].nano + span["step"].nano > capacity.nano:
        place.invalid(f"min and one step, {span['step']}, are above the capacity, {capacity}")
    for name, end in (("default", default), ("max", span.get("max"))):
        if end is not None and end >= span["min"] and (counted(end) - low) % step:
            place.invalid(f"{name}, {end}, is not min and some steps of {span['step']}")
