"""The process models by name: what is said of them here costs no import."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from refimpl.cri.state.ports import Clock, ImageSource, Logs, Network, Processes
from refimpl.cri.state.settings.logs import LogChoices
from refimpl.cri.state.settings.mounts import MountChoices
from refimpl.cri.virtual.programs import Scripts

__all__ = ["MODELS", "Model", "ModelChoices", "open_model"]

MODELS: Mapping[str, str] = {
    "virtual": "refimpl.cri.virtual.model:open_model",
    "subprocess": "refimpl.cri.subprocesses.model:open_model",
    "oci": "refimpl.cri.oci.model:open_model",
}
"""Name -> function from ModelChoices to Model, which raises ValueError for choices that cannot be,
OSError."""


@attrs.frozen(kw_only=True)
class ModelChoices:
    """What a model is opened with. scripts: programs by a glob of image or command line. handlers:
    names of runtime handlers, "" among them. folder: for what it keeps, None for one of its own
    that goes with it. logs: how log files are to be, mounts: what is
    mounted. options: of the model alone, as
    `--model-option` gives them."""

    clock: Clock
    scripts: Scripts = attrs.field(factory=dict)
    handlers: tuple[str, ...] = ("",)
    folder: Path | None = None
    logs: LogChoices = attrs.field(factory=LogChoices)
    mounts: MountChoices = attrs.field(factory=MountChoices)
    options: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Model:
    """What a model brings. handlers: a `Processes` for each handler. info: of itself, for
    Status on `verbose`, as JSON by name. close: ends all that it has started, and removes what it
    does not keep."""

    handlers: Mapping[str, Processes]
    network: Network
    images: ImageSource
    logs: Logs
    info: Mapping[str, str] = attrs.field(factory=dict)
    close: Callable[[], object] = lambda: None


def open_model(name: str, choices: ModelChoices) -> Model:
    """A process model; raises ValueError naming those there are, and what it raises itself."""
    if name not in MODELS:
        raise ValueError(f"there is no process model {name!r}: there is {', '.join(MODELS)}")
    module, _, function = MODELS[name].partition(":")
    opened: Any = getattr(importlib.import_module(module), function)(choices)
    model: Model = opened
    return model
