"""Taints, tolerations, node selectors and conditions. Source: resource.k8s.io/v1, core/v1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refimpl.dra.validation import names
from refimpl.dra.validation.problems import At, Reason, at_most, required, unique

__all__ = ["binding", "conditions", "node_selector", "operations", "taint", "toleration"]

_EFFECTS = ("NoExecute", "NoSchedule", "None")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_OPERATIONS = ("NodePrepareResources", "NodeUnprepareResources", "*")
_MOST_CONDITIONS = 4
_MOST_STATUS_CONDITIONS = 8


def taint(at: At, value: Mapping[str, Any]) -> None:
    """A DeviceTaint."""
    names.label_key(at.field("key"), value.get("key", ""))
    names.label_value(at.field("value"), value.get("value", ""))
    if required(at.field("effect"), value.get("effect")):
        at.field("effect").one_of(value["effect"], _EFFECTS)


def toleration(at: At, value: Mapping[str, Any]) -> None:
    """A DeviceToleration; without an operator it is Equal. An empty key is any key."""
    if value.get("key"):
        names.label_key(at.field("key"), value["key"])
    match value.get("operator") or "Equal":
        case "Exists":
            if value.get("value"):
                at.field("value").invalid("has to be empty with the operator Exists")
        case "Equal":
            names.label_value(at.field("value"), value.get("value", ""))
        case operator:
            at.field("operator").one_of(operator, ("Equal", "Exists"))
    if value.get("effect"):
        at.field("effect").one_of(value["effect"], _EFFECTS)


def node_selector(at: At, value: Mapping[str, Any], *, one_term: bool) -> None:
    """A NodeSelector of core/v1; one_term: of a ResourceSlice."""
    terms, place = value.get("nodeSelectorTerms") or [], at.field("nodeSelectorTerms")
    if one_term and len(terms) != 1:
        place.invalid(f"has {len(terms)} terms; a slice has exactly one")
        return
    if not required(place, terms):
        return
    for term_at, term in place.items(terms):
        for rule_at, rule in term_at.field("matchExpressions").items(term.get("matchExpressions")):
            _requirement(rule_at, rule)


def _requirement(at: At, rule: Mapping[str, Any]) -> None:
    operator, values = rule.get("operator", ""), rule.get("values") or []
    match operator:
        case "In" | "NotIn" if not values:
            at.field("values").note(Reason.REQUIRED, f"has to be given with {operator}")
        case "Exists" | "DoesNotExist" if values:
            at.field("values").note(Reason.FORBIDDEN, f"may not be given with {operator}")
        case "Gt" | "Lt" if len(values) != 1:
            at.field("values").note(Reason.REQUIRED, f"has to be one value with {operator}")
        case _ if operator not in _OPERATORS:
            at.field("operator").invalid(f"{operator!r} is not one of {', '.join(_OPERATORS)}")
    names.label_key(at.field("key"), rule.get("key", ""))


def binding(at: At, value: Mapping[str, Any]) -> None:
    """Binding conditions of a device or of an allocation: both lists or none."""
    wanted = value.get("bindingConditions") or []
    failures = value.get("bindingFailureConditions") or []
    lists = {"bindingConditions": wanted, "bindingFailureConditions": failures}
    for name, values in lists.items():
        place = at.field(name)
        at_most(place, values, _MOST_CONDITIONS)
        unique(place, values)
        for each_at, each in place.items(values):
            names.condition(each_at, each)
            if name == "bindingFailureConditions" and each in wanted:
                each_at.invalid(f"{each!r} is a binding condition, too")
    for name, other in (("bindingConditions", failures), ("bindingFailureConditions", wanted)):
        if other and not lists[name]:
            at.field(name).invalid("has to be given with the other of the two lists")


def operations(at: At, values: list[str] | None) -> None:
    """skipNodeOperations: without Prepare, there is nothing to unprepare."""
    for each_at, each in at.items(values):
        each_at.one_of(each, _OPERATIONS)
    unique(at, values)
    if values and "NodePrepareResources" in values and len(set(values)) == 1:
        at.invalid("NodePrepareResources is skipped with NodeUnprepareResources only")


def conditions(at: At, values: list[Mapping[str, Any]] | None) -> None:
    """Conditions of a status, one a type."""
    at_most(at, values, _MOST_STATUS_CONDITIONS)
    unique(at, values, lambda each: each.get("type"))
    for each_at, each in at.items(values):
        names.label_key(each_at.field("type"), each.get("type", ""))
        if required(each_at.field("status"), each.get("status")):
            each_at.field("status").one_of(each["status"], ("True", "False", "Unknown"))
        required(each_at.field("reason"), each.get("reason"))
        required(each_at.field("lastTransitionTime"), each.get("lastTransitionTime"))
