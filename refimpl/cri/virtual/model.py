"""The virtual model put together."""

from __future__ import annotations

import attrs

from refimpl.cri.images import RegistryImages
from refimpl.cri.logs.files import LogFiles
from refimpl.cri.models import Model, ModelChoices
from refimpl.cri.state.ports import ImageSource
from refimpl.cri.virtual.images import VirtualImages
from refimpl.cri.virtual.network import AddressPool
from refimpl.cri.virtual.processes import VirtualProcesses
from refimpl.images.store import FolderBlobs, MemoryBlobs

__all__ = ["images_of", "open_model"]

_NOWHERE = "nowhere"
_NETWORKS = {_NOWHERE: "10.88", "loopback": "127.88"}


def open_model(choices: ModelChoices) -> Model:
    """All handlers are one. Its option besides `images` is `network`: with `loopback` programs
    listen at the addresses of their sandboxes, which Linux has on loopback, and at their host
    ports. Raises as `images_of`."""
    options = dict(choices.options)
    network = options.pop("network", _NOWHERE)
    if network not in _NETWORKS:
        raise ValueError(f"network={network}: there is {' and '.join(_NETWORKS)}")
    images = images_of(attrs.evolve(choices, options=options), "virtual")
    logs = LogFiles(choices.clock, choices.logs)
    processes = VirtualProcesses(choices.clock, choices.scripts, listens=network != _NOWHERE)
    return Model(
        handlers=dict.fromkeys(choices.handlers, processes),
        network=AddressPool(_NETWORKS[network]),
        images=images,
        logs=logs,
        close=logs.close_all,
    )


def images_of(
    choices: ModelChoices, model: str, made_up: ImageSource | None = None
) -> VirtualImages:
    """Of a model whose option is `images`: `real` where each is to be pulled, none is `made_up`.
    Raises ValueError for another one; OSError where the folder cannot be had."""
    for name, value in choices.options.items():
        if (name, value) not in (("images", "real"), ("images", "made-up")):
            raise ValueError(
                f"the {model} model has no option {name}={value}: there is images=made-up (all but"
                " those of a registry on this machine) and images=real"
            )
    blobs = MemoryBlobs() if choices.folder is None else FolderBlobs(choices.folder / "blobs")
    real = choices.options.get("images") == "real"
    return VirtualImages(RegistryImages(blobs), all_real=real, made_up=made_up)
