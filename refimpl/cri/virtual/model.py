"""The virtual model put together."""

from __future__ import annotations

from refimpl.cri.models import Model, ModelChoices
from refimpl.cri.virtual.images import AnyImages
from refimpl.cri.virtual.logs import NoLogs
from refimpl.cri.virtual.network import AddressPool
from refimpl.cri.virtual.processes import VirtualProcesses

__all__ = ["open_model"]


def open_model(choices: ModelChoices) -> Model:
    """All handlers are one; it has no options, for which it raises ValueError."""
    if choices.options:
        raise ValueError(f"the virtual model has no option {next(iter(choices.options))!r}")
    processes = VirtualProcesses(choices.clock, choices.scripts)
    return Model(
        handlers=dict.fromkeys(choices.handlers, processes),
        network=AddressPool(),
        images=AnyImages(),
        logs=NoLogs(),
    )
