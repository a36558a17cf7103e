"""How much of a device a request takes. Source: resource.k8s.io/v1, consumable capacity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refimpl.dra.allocation.model import AllocationError, Features
from refimpl.dra.allocation.pools import Candidate
from refimpl.dra.quantity import NANO, Quantity

__all__ = ["check_requests", "consumed", "could_fit", "why_too_little"]

_LARGEST = (1 << 63) - 1

Amounts = Mapping[str, Quantity]


def check_requests(where: str, amounts: Mapping[str, Any]) -> None:
    """Raises AllocationError for an amount that cannot be."""
    for name, text in amounts.items():
        amount = Quantity.parse(str(text))
        if amount.sign < 0:
            raise AllocationError(f"{where}: capacity {name}: {text} is below zero")
        if amount.nano > _LARGEST * NANO:
            raise AllocationError(f"{where}: capacity {name}: {text} is above 2^63-1")


def could_fit(amounts: Mapping[str, Any], candidate: Candidate, features: Features) -> bool:
    """Whether a device has as much when nobody uses it."""
    return not why_too_little(amounts, candidate, {}, features)


def why_too_little(
    amounts: Mapping[str, Any], candidate: Candidate, used: Amounts, features: Features
) -> str:
    """What of a device is not enough, "" for nothing. used: by others. Raises AllocationError."""
    capacity = candidate.device.get("capacity") or {}
    for name in amounts:
        if name not in capacity:
            return f"it has no capacity {name}"
    taken = consumed(amounts, candidate, features)
    if isinstance(taken, str):
        return taken
    for name, amount in taken.items():
        value = Quantity.parse(str(capacity[name]["value"]))
        busy = used.get(name, Quantity(0))
        if candidate.shared and busy.nano + amount.nano > value.nano:
            return f"{amount} of {name} are more than is left: {Quantity(value.nano - busy.nano)}"
        if not candidate.shared and name in amounts and amount > value:
            return f"{amount} of {name} are more than it has: {value}"
    return ""


def consumed(
    amounts: Mapping[str, Any], candidate: Candidate, features: Features
) -> dict[str, Quantity] | str:
    """What a request takes of each capacity, or why a policy does not let it. Raises
    AllocationError."""
    taken = {}
    for name, capacity in (candidate.device.get("capacity") or {}).items():
        value = Quantity.parse(str(capacity["value"]))
        policy = (capacity.get("requestPolicy") or {}) if candidate.shared else {}
        asked = amounts.get(name)
        if asked is None:
            default = policy.get("default")
            taken[name] = value if default is None else Quantity.parse(str(default))
            continue
        amount = _by_policy(Quantity.parse(str(asked)), policy, name, features)
        if isinstance(amount, str):
            return amount
        taken[name] = amount
    return taken


def _by_policy(
    asked: Quantity, policy: Mapping[str, Any], name: str, features: Features
) -> Quantity | str:
    default = policy.get("default")
    if default is not None and Quantity.parse(str(default)) == asked:
        return asked
    if policy.get("validValues"):
        values = [Quantity.parse(str(each)) for each in policy["validValues"]]
        enough = [value for value in values if value >= asked]
        return enough[0] if enough else f"{asked} of {name} are more than its largest value"
    if policy.get("validRange"):
        return _in_range(asked, policy["validRange"], name, 1000 if features.fractional else 1)
    return asked


def _in_range(asked: Quantity, span: Mapping[str, Any], name: str, parts: int) -> Quantity | str:
    """parts: of a whole that are counted; the amounts are rounded up to them first."""

    def counted(text: Any) -> int:
        return -(-Quantity.parse(str(text)).nano * parts // NANO)

    low = Quantity.parse(str(span["min"]))
    if asked < low:
        return _checked(low, span, name)
    if not span.get("step"):
        return _checked(asked, span, name)
    if parts > 1 and asked.nano * parts % NANO:
        raise AllocationError(f"capacity {name}: {asked} is finer than a thousandth")
    least, step = counted(span["min"]), counted(span["step"])
    steps = -(-(counted(asked) - least) // step)
    total = least + steps * step
    if total > _LARGEST * parts:
        raise AllocationError(f"capacity {name}: {asked} is rounded up beyond 2^63-1")
    return _checked(Quantity(total * NANO // parts), span, name)


def _checked(amount: Quantity, span: Mapping[str, Any], name: str) -> Quantity | str:
    if span.get("max") is not None and amount > Quantity.parse(str(span["max"])):
        return f"{amount} of {name} are more than a request may take: {span['max']}"
    return amount
