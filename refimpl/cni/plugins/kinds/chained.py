"""The chained plugin: adjusts the attachment that prevResult describes, and passes it on.

Configuration: mac, mtu; runtimeConfig: mac, mtu, portMappings, bandwidth. What it sets up beside
the link is noted as rules on the host's side of the kernel file.
"""

from __future__ import annotations

import os

from refimpl.cni.format.errors import (
    INCOMPATIBLE_VERSION,
    INVALID_CONFIG,
    NOT_AVAILABLE,
    CniError,
)
from refimpl.cni.format.versions import at_least
from refimpl.cni.plugins import kernel, spaces
from refimpl.cni.plugins.checks import previous, valid_pairs
from refimpl.cni.plugins.errors import CHANGED
from refimpl.cni.plugins.kinds.rules import demanded, validate
from refimpl.cni.plugins.results import load, same_shape, shape
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from refimpl.cni.plugins.call import Call

    Document = dict[str, Any]

__all__ = ["add", "check", "delete", "gc", "status"]


@step
def add(call: Call) -> Document:
    """Returns prevResult with what was changed. Raises CniError; nothing is changed then."""
    spaces.refuse_own(call)
    validate(call)
    document = passed_on(call)
    set_up(call, document)
    return document


@step
def passed_on(call: Call) -> Document:
    """prevResult as a result of the version asked for. Raises CniError."""
    previous(call)
    given = call.config["prevResult"]
    version = given.get("cniVersion") or call.version
    try:
        if version == call.version:
            return same_shape(given, version)
        return shape(load(given, version), call.version)
    except ValueError as error:
        raise CniError(
            INCOMPATIBLE_VERSION,
            f"prevResult of version {version} is no result of version {call.version}: {error}",
        ) from None


@step
def set_up(call: Call, document: Document) -> None:
    """Changes link and result, and notes the rules. Raises CniError."""
    if change := _change(call):
        _adjust(call, document, change)
    if rules := demanded(call, document):
        with kernel.Change(spaces.kernel_path(call)) as state:
            host: Any = kernel.namespace(state, kernel.HOST)
            host["rules"] += [rule for rule in rules if rule not in host["rules"]]


def _change(call: Call) -> dict[str, Any]:
    """What the link gets: `mac`, `mtu`."""
    runtime = call.config.get("runtimeConfig", {})
    change = {}
    for key in ("mac", "mtu"):
        value = runtime.get(key) or call.config.get(key)
        if value:
            change[key] = value.lower() if isinstance(value, str) else value
    return change


def _adjust(call: Call, document: Document, change: dict[str, Any]) -> None:
    """Changes the link in the kernel and the entry of the result that is CNI_IFNAME's."""
    inside = [each for each in document.get("interfaces", ()) if each.get("sandbox")]
    entries = [each for each in inside if each["name"] == call.ifname]
    if at_least(call.version, "0.3.0") and not entries:
        raise CniError(INVALID_CONFIG, f"prevResult names no interface {call.ifname} in a sandbox")
    with kernel.Change(spaces.kernel_path(call)) as state:
        spaces.usable(call, state)
        space = spaces.inside(call, state)
        if call.ifname not in space["links"]:
            raise CniError(CHANGED, f"there is no {call.ifname} in {call.netns}")
        space["links"][call.ifname].update(change)
    shown = {k: v for k, v in change.items() if k == "mac" or at_least(call.version, "1.1.0")}
    update(call, document, entries, shown)


@step
def update(
    call: Call,  # noqa: ARG001
    document: Document,  # noqa: ARG001
    entries: list[Document],
    shown: dict[str, Any],
) -> None:
    """Tells the change in the entries of the result that are this attachment's."""
    for each in entries:
        each.update(shown)


@step
def delete(call: Call) -> None:
    """Removes the rules of the attachment, whatever else is missing. Raises CniError."""
    spaces.refuse_own(call)
    drop_rules(call)


@step
def drop_rules(call: Call) -> None:
    """Removes the rules of the attachment."""
    key = [call.name, call.container_id, call.ifname]
    _keep(call, lambda rule: rule.split()[1:4] != key)


def _keep(call: Call, wanted: Callable[[str], bool]) -> None:
    """Drops the rules that are not wanted; what other plugins noted stays."""
    path = call.settings.get("kernel") or ""
    if not os.path.exists(path):
        return
    with kernel.Change(path) as state:
        host: Any = kernel.namespace(state, kernel.HOST)
        host["rules"] = [rule for rule in host["rules"] if not _ours(rule) or wanted(rule)]


def _ours(rule: str) -> bool:
    return rule.split()[0] in ("portmap", "shape")


@step
def check(call: Call) -> None:
    """The rules are there, and the link is as prevResult says. Raises CniError."""
    spaces.refuse_own(call)
    result = previous(call)
    state = spaces.look(call)
    host: Any = kernel.namespace(state, kernel.HOST)
    for rule in demanded(call, result):
        if rule not in host["rules"]:
            raise CniError(CHANGED, f"the rule is gone: {rule}")
    if _change(call):
        _check_link(call, spaces.inside(call, state), result)


def _check_link(call: Call, space: Any, result: Document) -> None:
    link = (space or {"links": {}})["links"].get(call.ifname)
    if link is None:
        raise CniError(CHANGED, f"there is no {call.ifname} in {call.netns} any more")
    for each in result.get("interfaces", ()):
        ours = each["name"] == call.ifname and each.get("sandbox") == call.netns
        for key in ("mac", "mtu") if ours else ():
            if each.get(key) and str(each[key]).lower() != str(link[key]):
                raise CniError(
                    CHANGED, f"{call.ifname} has {key} {link[key]}, prevResult says {each[key]}"
                )


@step
def gc(call: Call) -> None:
    """Removes the rules of this network's attachments that are not valid. Raises CniError."""
    pairs = valid_pairs(call)
    if pairs is None:
        return

    def valid(rule: str) -> bool:
        network, container, ifname = rule.split()[1:4]
        return network != call.name or (container, ifname) in pairs

    _keep(call, valid)


@step
def status(call: Call) -> None:
    """Ready when the kernel file, if there is one, can be read. Raises CniError."""
    try:
        spaces.look(call)
    except CniError as failure:
        raise CniError(NOT_AVAILABLE, f"not ready for ADD: {failure.msg}") from None
