"""The breaches of each kind of plugin, and how a call comes to commit them.

A module here has a table `BREACHES` of knob -> {step: wrapper}, the outermost first.
"""

from __future__ import annotations

from refimpl.cni.plugins.breaches import output, request, shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.breaches.wrapping import Breaches
    from refimpl.cni.plugins.call import Call

__all__ = ["commit", "tables"]


def tables(kind: str) -> list[Breaches]:
    """The breaches that a plugin of a kind can commit."""
    if kind == "interface":
        from refimpl.cni.plugins.breaches import interface as own
    elif kind == "hostlocal":
        from refimpl.cni.plugins.breaches import hostlocal as own  # type: ignore[no-redef]
    elif kind == "chained":
        from refimpl.cni.plugins.breaches import chained as own  # type: ignore[no-redef]
    elif kind == "delegating":
        from refimpl.cni.plugins.breaches import delegating as own  # type: ignore[no-redef]
    else:
        return [request.BREACHES, output.BREACHES]
    return [request.BREACHES, output.BREACHES, shared.BREACHES, own.BREACHES]


def commit(call: Call, kind: str, knobs: dict[str, dict[str, Any]]) -> None:
    """Puts the breaches of this call, by knob with their arguments, around its steps."""
    call.knobs = dict(knobs)
    for table in tables(kind):
        for knob in [knob for knob in table if knob in knobs]:
            for step, wrapper in table[knob].items():
                call.wrappers.setdefault(step, []).append(wrapper)
