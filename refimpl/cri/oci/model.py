"""The oci model put together."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from refimpl import cdi
from refimpl.cni.host import syscalls
from refimpl.cri.images import RegistryImages
from refimpl.cri.logs.files import LogFiles
from refimpl.cri.models import Model, ModelChoices
from refimpl.cri.oci import options
from refimpl.cri.oci.clearing import clear, clear_left
from refimpl.cri.oci.containers import Maker
from refimpl.cri.oci.images import OciImages, content_of
from refimpl.cri.oci.network import CniNetwork, own_configuration
from refimpl.cri.oci.place import Place
from refimpl.cri.oci.pods import Pods
from refimpl.cri.oci.processes import OciProcesses
from refimpl.cri.oci.program import Program
from refimpl.cri.oci.snapshots import Snapshots
from refimpl.cri.state.ports import Processes
from refimpl.cri.virtual.processes import VirtualProcesses
from refimpl.images.store import FolderBlobs

__all__ = ["open_model"]

_SYS_ADMIN = 21  # CAP_SYS_ADMIN, linux/capability.h


def open_model(choices: ModelChoices) -> Model:
    """One with an OCI runtime for each handler, options as `options.read` has them. ValueError for
    scripts, of which it has none, and where it cannot work: it takes Linux, and root; OSError."""
    if choices.scripts:
        raise ValueError("the oci model has no scripts: its programs are real")
    if sys.platform != "linux" or os.geteuid() or not syscalls.has_capability(_SYS_ADMIN):
        raise ValueError("the oci model needs Linux, and root: it makes namespaces and mounts")
    chosen = options.read(choices.options, choices.handlers)
    clear_left()
    place = Place()
    try:
        return _opened(choices, chosen, place)
    except BaseException:
        clear(place.folder)
        place.close()
        raise


def _opened(choices: ModelChoices, chosen: options.Choices, place: Place) -> Model:
    blobs = FolderBlobs((choices.folder or place.folder) / "blobs")
    snapshots = Snapshots(place.folder / "layers", lambda digest: content_of(blobs, digest))
    devices = cdi.Cache()
    pods, maker = Pods(), Maker(place, snapshots, devices, raised=chosen.raised)
    real = {
        name: OciProcesses(
            program, maker, place, pods, {} if name == chosen.plain else _features(program)
        )
        for name, program in _programs(chosen, place).items()
    }
    virtual = VirtualProcesses(choices.clock, {})
    handlers: dict[str, Processes] = {name: real.get(name, virtual) for name in choices.handlers}
    logs = LogFiles(choices.clock, choices.logs)

    def close() -> None:
        for each in real.values():
            each.close()
        logs.close_all()
        devices.close()
        clear(place.folder)
        place.close()

    return Model(
        handlers=handlers,
        network=CniNetwork(_networks(chosen, place), chosen.plugins, place.folder / "cni"),
        images=OciImages(RegistryImages(blobs), snapshots, real=chosen.real),
        logs=logs,
        info={"model": json.dumps(_about(chosen))},
        close=close,
    )


def _programs(chosen: options.Choices, place: Place) -> Mapping[str, Program]:
    """Of each handler that has one; handlers that run the same share what it remembers."""
    roots = {command: str(number) for number, command in enumerate({*chosen.handlers.values()})}
    return {
        name: Program(command, place.folder / "oci" / roots[command])
        for name, command in chosen.handlers.items()
        if command
    }


def _networks(chosen: options.Choices, place: Place) -> Path:
    """The folder of CNI configurations: the user's, or one with our own."""
    (place.folder / "plugins").write_text("\n".join(map(str, chosen.plugins)))
    if chosen.networks is not None:
        return chosen.networks
    folder = place.folder / "cni" / "net.d"
    folder.mkdir()
    own = own_configuration(place.number, place.folder / "cni" / "addresses")
    (folder / "10-refimpl.conflist").write_text(own)
    return folder


def _features(program: Program) -> Mapping[str, bool]:
    """Those of CRI that it says it fulfils."""
    about = program.about()
    return {"recursive_read_only_mounts": "rro" in about.get("mountOptions", ())}


def _about(chosen: options.Choices) -> Mapping[str, object]:
    """For Status."""
    runs = {
        name or "default": " ".join(command) or "nothing: it is of the virtual model"
        for name, command in chosen.handlers.items()
    }
    return {
        "name": "oci",
        "handlers": runs,
        "negative oom scores": "raised to 0" if chosen.raised else "as asked for",
        "absent": ["checkpoints"],
    }
