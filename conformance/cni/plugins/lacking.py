"""Why plugins have not got what a case needs, by feature (conformance.cni.needs)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conformance.cni.plugins.installed import InstalledPlugins
from refimpl.cni import contract

__all__ = ["reasons"]

Plugins = InstalledPlugins


def reasons(plugins: Plugins) -> dict[str, Callable[[], str]]:
    """Feature -> tells why the plugins lack it, by an empty text that they do not."""
    return {feature: partial(why, plugins) for feature, why in _WHY_NOT.items()}


def _no_kind(kind: str, reason: str) -> Callable[[Plugins], str]:
    return lambda plugins: "" if plugins.of_kind(kind) else f"{plugins.main.name} {reason}"


def _no_version(version: str) -> Callable[[Plugins], str]:
    def why(plugins: Plugins) -> str:
        name, newest = plugins.main.name, plugins.main.newest
        if contract.at_least(newest, version):
            return ""
        return f"{name} advertises no version from {version} on, only up to {newest}"

    return why


def _no_delegate(plugins: Plugins) -> str:
    subject = plugins.of_kind("interface")
    delegates = subject and subject.delegates
    return "" if delegates else f"{plugins.main.name} delegates to no IPAM plugin"


def _no_ranges(plugins: Plugins) -> str:
    subject = plugins.of_kind("ipam")
    if subject is None:
        return f"{plugins.main.name} is no IPAM plugin"
    return "" if subject.ranged else f"the configuration of {subject.name} names no ipam.ranges"


def _no_local_store(plugins: Plugins) -> str:
    kept = plugins.main.settings.data_dir
    return _no_ranges(plugins) or ("" if kept else "data_dir = false: ipam.dataDir is not ours")


def _no_daemon(plugins: Plugins) -> str:
    subject = plugins.of_kind("ipam")
    asks = subject and subject.daemon
    name = plugins.main.name
    return "" if asks else f"the configuration of {name} names no ipam.daemonSocketPath"


def _independent(plugins: Plugins) -> str:
    main = plugins.main
    depends = main.delegates or (main.kind == "ipam" and (main.ranged or main.daemon))
    return "" if depends else f"{main.name} depends on nothing that its configuration names"


def _no_attachment(plugins: Plugins) -> str:
    main = plugins.main
    return main.unserved or ("" if main.kind == "ipam" else plugins.no_netns)


def _no_own_link(plugins: Plugins) -> str:
    subject = plugins.of_kind("interface")
    if subject is None or subject.ifname != "lo":
        return ""
    return f"{plugins.main.name} makes no link: lo is there with the namespace"


def _takes_device(plugins: Plugins) -> str:
    subject = plugins.of_kind("interface")
    device = subject.config.get("device") if subject else None
    if not device:
        return ""
    return f"{plugins.main.name} moves the device {device}: one attachment at a time"


def _aided(plugins: Plugins) -> str:
    main = plugins.main
    return f"{main.name} runs {main.ipam_type} as its configuration says" if main.delegates else ""


_WHY_NOT: dict[str, Callable[[Plugins], str]] = {
    "interface": _no_kind("interface", "makes no interface of its own"),
    "chained": _no_kind("chained", "is no chained plugin"),
    "ipam": _no_kind("ipam", "is no IPAM plugin"),
    "0.4.0": _no_version("0.4.0"),
    "1.0.0": _no_version("1.0.0"),
    "1.1.0": _no_version("1.1.0"),
    "netns": lambda plugins: plugins.no_netns,
    "delegates": _no_delegate,
    "ranges": _no_ranges,
    "local store": _no_local_store,
    "daemon": _no_daemon,
    "dependent": _independent,
    "attaches": _no_attachment,
    "served": lambda plugins: plugins.main.unserved,
    "makes link": _no_own_link,
    "shares": _takes_device,
    "unaided": _aided,
}
