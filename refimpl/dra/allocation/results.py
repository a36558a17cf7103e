"""The AllocationResult of a claim. Source: resource.k8s.io/v1 AllocationResult."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from refimpl.dra.allocation.model import AllocationError, Features, Node
from refimpl.dra.allocation.picks import Pick

__all__ = ["allocation_result"]


def allocation_result(
    claim: Mapping[str, Any],
    picks: list[Pick],
    classes: Mapping[str, Mapping[str, Any]],
    node: Node,
    features: Features,
    share_id: Callable[[], str],
) -> dict[str, Any]:
    """share_id: makes a new one. Raises AllocationError."""
    devices: dict[str, Any] = {
        "results": [_result(pick, features, share_id) for pick in picks],
    }
    config = _config(claim, picks, classes)
    if config:
        devices["config"] = config
    allocation: dict[str, Any] = {"devices": devices} if picks else {}
    selector = _node_selector(picks, node)
    if selector:
        allocation["nodeSelector"] = selector
    return allocation


def _result(pick: Pick, features: Features, share_id: Callable[[], str]) -> dict[str, Any]:
    driver, pool, device = pick.candidate.id
    asked, own = pick.alternative.spec, pick.candidate.device
    result: dict[str, Any] = {
        "request": pick.alternative.name,
        "driver": driver,
        "pool": pool,
        "device": device,
    }
    if pick.alternative.admin:
        result["adminAccess"] = True
    if asked.get("tolerations"):
        result["tolerations"] = asked["tolerations"]
    for name in ("bindingConditions", "bindingFailureConditions"):
        if own.get(name):
            result[name] = own[name]
    if features.experimental and pick.candidate.spec.get("skipNodeOperations"):
        result["skipNodeOperations"] = pick.candidate.spec["skipNodeOperations"]
    if pick.amounts is not None:
        result["shareID"] = share_id()
        if pick.amounts:
            result["consumedCapacity"] = {
                name: str(amount) for name, amount in pick.amounts.items()
            }
    return result


def _config(
    claim: Mapping[str, Any], picks: list[Pick], classes: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Of classes first, in the order of requests; then of the claim what still applies."""
    devices = claim["spec"].get("devices") or {}
    chosen = _chosen(devices, picks)
    by_class: dict[str, list[str]] = {}
    for name, wanted in chosen.items():
        by_class.setdefault(wanted, []).append(name)
    config = [
        _entry("FromClass", names, each)
        for wanted, names in by_class.items()
        for each in (classes[wanted].get("spec") or {}).get("config") or ()
    ]
    parents = {name.partition("/")[0]: name for name in chosen}
    for each in devices.get("config") or ():
        named = each.get("requests") or []
        applies = [name for name in named if name in chosen or name in parents]
        if applies or not named:
            config.append(_entry("FromClaim", applies, each))
    everyone = {name.partition("/")[0] for name in chosen}
    for entry in config:
        if {name.partition("/")[0] for name in entry.get("requests") or ()} == everyone:
            entry.pop("requests", None)
    return config


def _chosen(devices: Mapping[str, Any], picks: list[Pick]) -> dict[str, str]:
    """Each request, or the subrequest that was chosen, with its class."""
    found = {}
    picked = {pick.alternative.request: pick.alternative for pick in picks}
    for request in devices.get("requests") or ():
        alternative = picked.get(request["name"])
        if alternative is not None:
            found[alternative.name] = alternative.spec["deviceClassName"]
    return found


def _entry(source: str, requests: list[str], config: Mapping[str, Any]) -> dict[str, Any]:
    named = {"requests": list(requests)} if requests else {}
    return {"source": source, **named, "opaque": config["opaque"]}


def _node_selector(picks: list[Pick], node: Node) -> dict[str, Any] | None:
    """The node where a device is of that one; else all that slices and devices demand."""
    terms: dict[str, list[Any]] = {"matchExpressions": [], "matchFields": []}
    for pick in picks:
        place = _place(pick)
        if place.get("nodeName") or pick.candidate.device.get("bindsToNode"):
            rule = {"key": "metadata.name", "operator": "In", "values": [node.name]}
            return {"nodeSelectorTerms": [{"matchFields": [rule]}]}
        selector = place.get("nodeSelector")
        if not selector:
            continue
        if len(selector["nodeSelectorTerms"]) != 1:
            raise AllocationError(
                f"device {'/'.join(pick.candidate.id)}: a node selector of"
                f" {len(selector['nodeSelectorTerms'])} terms; only one can be merged"
            )
        for name, rules in terms.items():
            for rule in selector["nodeSelectorTerms"][0].get(name) or ():
                if rule not in rules:
                    rules.append(rule)
    term = {name: rules for name, rules in terms.items() if rules}
    return {"nodeSelectorTerms": [term]} if term else None


def _place(pick: Pick) -> Mapping[str, Any]:
    """Where the node of a device stands: in its slice, or in itself."""
    spec = pick.candidate.spec
    return pick.candidate.device if spec.get("perDeviceNodeSelection") else spec
