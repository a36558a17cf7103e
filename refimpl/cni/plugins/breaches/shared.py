"""Breaches that plugins of several kinds commit: of namespaces, delegates and GC's list."""

from __future__ import annotations

import os

from refimpl.cni.format.errors import INTERNAL, CniError
from refimpl.cni.plugins import checks, delegate, kernel, spaces
from refimpl.cni.plugins.breaches.output import print_first
from refimpl.cni.plugins.breaches.wrapping import excused, first, gives, on, skipped, then, where
from refimpl.cni.plugins.json import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.breaches.wrapping import Act, Breaches
    from refimpl.cni.plugins.call import Call

    Request = tuple[dict[str, str], bytes]

__all__ = ["BREACHES", "find_out_late", "only_read_the_list"]


def _inside_any(proceed: Act, call: Call, state: dict[str, Any]) -> Any:
    space = proceed(call, state)
    return space or state["namespaces"].setdefault(call.netns, kernel.new_namespace())


def _without_args(_call: Call, request: Request) -> Request:
    environ, stdin = request
    return {key: value for key, value in environ.items() if key != "CNI_ARGS"}, stdin


def _path_reversed(_call: Call, request: Request) -> Request:
    environ, stdin = request
    folders = environ.get("CNI_PATH", "").split(os.pathsep)
    return {**environ, "CNI_PATH": os.pathsep.join(reversed(folders))}, stdin


def _stdin_changed(call: Call, request: Request) -> Request:
    kept = ("cniVersion", "name", "ipam")
    return request[0], dumps({key: item for key, item in call.config.items() if key in kept})


def _with_own_code(proceed: Act, call: Call, *rest: Any) -> None:
    try:
        proceed(call, *rest)
    except CniError as failure:
        failure.code = INTERNAL
        raise


def _as_empty_list(call: Call) -> None:
    given = call.config.get(checks.VALID_KEY)
    items = given if isinstance(given, list) else []
    if given is not None:
        call.config[checks.VALID_KEY] = [item for item in items if checks.is_pair(item)]


def only_read_the_list(_proceed: Act, call: Call) -> None:
    """Stands for a GC that frees nothing; a malformed list is refused all the same."""
    checks.valid_pairs(call)


def find_out_late(call: Call, document: dict[str, Any] | None) -> None:
    """Refuses the plugin's own namespace behind the work, with the result printed in front."""
    try:
        spaces.check_own(call)
    except CniError:
        if document is not None:
            print_first(call, document)
        raise


BREACHES: Breaches = {
    "own-netns-accepted": {spaces.refuse_own: skipped},
    "own-netns-late": {spaces.refuse_own: skipped},
    "del-own-netns": {spaces.refuse_own: where(on("DEL"), skipped)},
    "ignores-override": {spaces.overridden: gives(False)},
    "any-netns": {spaces.usable: skipped, spaces.inside: where(on("ADD"), _inside_any)},
    "leak": {delegate.undo: skipped},
    "accept-junk-ipam": {delegate.parsed: excused(dict)},
    "drop-args": {delegate.request: then(_without_args)},
    "path-reversed": {delegate.request: then(_path_reversed)},
    "changed-stdin": {delegate.request: then(_stdin_changed)},
    "swallow-stderr": {delegate.hear: skipped},
    "swallow-code": {delegate.check_end: _with_own_code},
    "swallow-error": {delegate.check_end: skipped},
    "gc-missing-frees": {
        checks.valid_pairs: then(lambda _call, pairs: set() if pairs is None else pairs)
    },
    "gc-any-type": {checks.valid_pairs: first(_as_empty_list)},
}
