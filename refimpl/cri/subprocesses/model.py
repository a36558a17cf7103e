"""The subprocess model put together."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import attrs

from refimpl.cri.logs.files import LogFiles
from refimpl.cri.models import Model, ModelChoices
from refimpl.cri.state.models import Image
from refimpl.cri.subprocesses.processes import RealProcesses
from refimpl.cri.virtual.images import AnyImages
from refimpl.cri.virtual.model import images_of
from refimpl.cri.virtual.network import AddressPool

__all__ = ["open_model"]

_ABSENT = (
    *("namespaces", "mounts", "root file system", "users", "capabilities", "seccomp", "devices"),
    *("resource limits", "pod network"),
)
_LOOPBACK = "127.88"
"""Each address of it is this machine, so that a pod's server answers at the pod's own."""
_FOREVER = ("sleep", "infinity")


class HostImages(AnyImages):
    """Made up; their programs are those of this machine."""

    def pull(self, reference: str, *who: Any) -> Image:
        """One that waits for its end, and finds the programs that its user finds."""
        path = f"PATH={os.environ.get('PATH', os.defpath)}"
        config = json.dumps({"config": {"Entrypoint": _FOREVER, "Env": [path]}})
        made_up = super().pull(reference, *who)
        return attrs.evolve(made_up, entrypoint=_FOREVER, env=(path,), config=config)


def open_model(choices: ModelChoices) -> Model:
    """All handlers are one. ValueError for scripts, of which it has none, and where the kernel is
    not Linux; else as the virtual model."""
    if choices.scripts:
        raise ValueError("the subprocess model has no scripts: its programs are real")
    if sys.platform != "linux":
        raise ValueError("the subprocess model needs Linux, to leave no process behind")
    images = images_of(choices, "subprocess", HostImages())
    processes, logs = RealProcesses(choices.folder), LogFiles(choices.clock, choices.logs)

    def close() -> None:
        processes.close()
        logs.close_all()

    return Model(
        handlers=dict.fromkeys(choices.handlers, processes),
        network=AddressPool(_LOOPBACK),
        images=images,
        logs=logs,
        info={"model": json.dumps({"name": "subprocess", "isolation": "none", "absent": _ABSENT})},
        close=close,
    )
