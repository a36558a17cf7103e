"""What cases need of a runtime."""

from __future__ import annotations

from conformance.engine.needs import Feature

__all__ = ["EVENTS", "HANDLER", "IMAGE", "OURS", "POD_NETWORK", "REGISTRY", "served"]

EVENTS = Feature("events", "a stream of events")
IMAGE = Feature("image", "an image with a shell")
HANDLER = Feature("handler", "a named runtime handler")
POD_NETWORK = Feature("pod network", "a network for pods")
REGISTRY = Feature("registry", "a way from the runtime to the registry of the suite")
OURS = Feature("ours", "our fake, which can be steered")


def served(rpc: str) -> Feature:
    """That the runtime has an RPC: an empty request is not answered UNIMPLEMENTED."""
    return Feature(f"rpc {rpc}", rpc)
