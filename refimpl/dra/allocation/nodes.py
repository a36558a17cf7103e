"""Whether a node selector means a node. Source: core/v1 NodeSelector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refimpl.dra.allocation.model import Node

__all__ = ["selects"]


def selects(selector: Mapping[str, Any], node: Node) -> bool:
    """One of its terms has to hold, in a term everything; an empty term holds for no node."""
    return any(_holds(term, node) for term in selector.get("nodeSelectorTerms") or ())


def _holds(term: Mapping[str, Any], node: Node) -> bool:
    labels = term.get("matchExpressions") or []
    fields = term.get("matchFields") or []
    if not labels and not fields:
        return False
    own = {"metadata.name": node.name}
    return all(_meets(each, node.labels) for each in labels) and all(
        _meets(each, own) for each in fields
    )


def _meets(rule: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    value, wanted = values.get(rule["key"]), rule.get("values") or []
    match rule["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            try:
                own, limit = int(value or ""), int(wanted[0])
            except (ValueError, IndexError):
                return False
            return own > limit if operator == "Gt" else own < limit
    return False
