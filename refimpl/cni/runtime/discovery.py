"""Which networks of a folder a runtime attaches its pods to, and in which order."""

from __future__ import annotations

from pathlib import Path

import attrs

from refimpl.cni import config
from refimpl.cni.config import ConfigError, NetworkList
from refimpl.cni.config.folder import LISTS, SINGLES, configurations
from refimpl.cni.contract import CniError
from refimpl.cni.runtime.runtime import Runtime
from refimpl.cni.runtime.trouble import Trouble

__all__ = ["Found", "find"]


@attrs.frozen
class Found:
    """networks: the first is the default. skipped: a sentence for every file left out."""

    networks: tuple[NetworkList, ...]
    skipped: tuple[str, ...] = ()


def find(folder: Path, runtime: Runtime) -> Found:
    """The networks in the order of the file names, as the profile of the runtime counts them.

    Raises ConfigError where a broken file ends the search, or nothing was found; OSError.
    """
    rules = runtime.profile.pods
    networks: dict[str, NetworkList] = {}
    skipped: list[str] = []
    for path in configurations(folder, LISTS + SINGLES):
        if rules.networks and len(networks) >= rules.networks:
            break
        try:
            network = _usable(path, runtime)
        except (ConfigError, CniError, Trouble) as error:
            if rules.bad_file == "fail":
                raise ConfigError(f"{path}: the whole folder is refused: {error}") from error
            skipped.append(f"{path}: {error}")
            continue
        if network.name in networks:
            skipped.append(f"{path}: network {network.name} was in a file before it")
        networks.setdefault(network.name, network)
    if not networks:
        why = "; ".join(skipped) or "there is no .conflist, .conf or .json"
        raise ConfigError(f"{folder}: no usable network: {why}")
    return Found(tuple(networks.values()), tuple(skipped))


def _usable(path: Path, runtime: Runtime) -> NetworkList:
    network = config.load(path)
    if runtime.profile.pods.validate:
        version = config.negotiated(network)
        for plugin in network.plugins:
            if version not in runtime.version(plugin.type):
                raise ConfigError(f"plugin {plugin.type} does not support version {version}")
    return network
