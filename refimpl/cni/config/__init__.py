"""Network configurations: read, found in a folder, and turned into what a plugin is sent."""

from refimpl.cni.config.derive import negotiated, request
from refimpl.cni.config.folder import discover, load, subdirectory_files
from refimpl.cni.config.model import ConfigError, NetworkList, PluginConf
from refimpl.cni.config.read import dump, parse

__all__ = [
    "ConfigError",
    "NetworkList",
    "PluginConf",
    "discover",
    "dump",
    "load",
    "negotiated",
    "parse",
    "request",
    "subdirectory_files",
]
