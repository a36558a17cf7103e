"""The virtual model put together."""

from __future__ import annotations

import attrs

from refimpl.cri.images import RegistryImages
from refimpl.cri.logs.files import LogFiles
from refimpl.cri.models import Model, ModelChoices
from refimpl.cri.state.ports import ImageSource
from refimpl.cri.virtual.images import VirtualImages
from refimpl.cri.virtual.machine.node import Node
from refimpl.cri.virtual.network import AddressPool
from refimpl.cri.virtual.processes import VirtualProcesses
from refimpl.images.store import FolderBlobs, MemoryBlobs

__all__ = ["images_of", "open_model"]

_NOWHERE = "nowhere"
_FEATURES = {"recursive_read_only_mounts": True, "user_namespaces": True}
_NETWORKS = {_NOWHERE: "10.88", "loopback": "127.88"}


def open_model(choices: ModelChoices) -> Model:
    """Its options besides `images`: `network`, with `loopback` programs listen at the addresses of
    their sandboxes, which Linux has on loopback, and at their host ports; `plain`, the handlers
    (NAME+NAME) that have no features, where all others have them. Raises as `images_of`."""
    options = dict(choices.options)
    network = options.pop("network", _NOWHERE)
    if network not in _NETWORKS:
        raise ValueError(f"network={network}: there is {' and '.join(_NETWORKS)}")
    weak = {*options.pop("plain", "").split("+")} - {""}
    images = images_of(attrs.evolve(choices, options=options), "virtual")
    logs = LogFiles(choices.clock, choices.logs)
    node = Node(images.content, choices.mounts)
    full, plain = (
        VirtualProcesses(
            choices.clock,
            choices.scripts,
            listens=network != _NOWHERE,
            node=node,
            features=features,
        )
        for features in (_FEATURES, {})
    )
    return Model(
        handlers={each: plain if each in weak else full for each in choices.handlers},
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
