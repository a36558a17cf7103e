"""Whether a rule can ever act on the methods it is for, found out before the first call."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor

from refimpl.wire.faults.actions import Crash, EndStream, Mutate
from refimpl.wire.faults.paths import PathError
from refimpl.wire.faults.rules import FaultError, FaultRule, fits_method
from refimpl.wire.faults.where import Where

__all__ = ["check_rule"]


def check_rule(rule: FaultRule, services: Sequence[ServiceDescriptor]) -> None:
    """Raises FaultError if the rule is for no method served, or for fields that none has.

    Without `services` only a full name without globs can be looked up, among the loaded schemas;
    a method that is not known passes, and the rule shows what it can do when it fires.
    """
    if isinstance(rule.do, Crash):
        return
    methods = _meant(rule.method, services)
    if not methods:
        _check_served(rule, services)
        return
    if isinstance(rule.request, Where):
        _one_of(rule, "when.request", rule.request.check, [m.input_type for m in methods])
    if isinstance(rule.do, Mutate):
        _one_of(rule, "do.mutate", rule.do.edits.check, [m.output_type for m in methods])
    if isinstance(rule.do, EndStream) and not any(m.server_streaming for m in methods):
        raise FaultError(f"{rule.title}: do.end_stream: {rule.method} sends one reply, no stream")


def full_name(method: MethodDescriptor) -> str:
    """The method as it stands on the wire: "/package.Service/Name"."""
    return f"/{method.containing_service.full_name}/{method.name}"


def _meant(pattern: str, services: Iterable[ServiceDescriptor]) -> list[MethodDescriptor]:
    served = [method for service in services for method in service.methods]
    methods = [method for method in served if fits_method(pattern, full_name(method))]
    if methods or "/" not in pattern:
        return methods
    service, _, name = pattern.strip("/").rpartition("/")
    try:
        descriptor = descriptor_pool.Default().FindServiceByName(service)
    except KeyError:
        return []
    return [method for method in descriptor.methods if method.name == name]


def _check_served(rule: FaultRule, services: Sequence[ServiceDescriptor]) -> None:
    service = rule.method.strip("/").rpartition("/")[0]
    if not services or (
        service and service not in {descriptor.full_name for descriptor in services}
    ):
        return  # nothing is known of it: another server may share the file, or a proxy
    names = sorted({method.name for descriptor in services for method in descriptor.methods})
    close = difflib.get_close_matches(rule.method.rpartition("/")[2], names, 1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
    raise FaultError(f"{rule.title}: when.method: {rule.method!r} fits no RPC served: {hint}")


def _one_of(
    rule: FaultRule, where: str, check: Callable[[Descriptor], None], types: Iterable[Descriptor]
) -> None:
    """Raises FaultError, with the first reason, unless at least one of the types passes."""
    reasons = []
    for kind in types:
        try:
            check(kind)
        except PathError as error:
            reasons.append(str(error))
        else:
            return
    raise FaultError(f"{rule.title}: {where}: {reasons[0]}")
