"""A real plugin as a target: its document, its kind and versions, and a sandbox to run it in."""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conformance.cni.plugins.families import has_ipv6, ipv4_only
from conformance.cni.plugins.installed import InstalledPlugins
from conformance.cni.plugins.subject import PluginSubject, directories
from conformance.cni.settings import CniSettings
from conformance.cni.target import CniTarget
from conformance.engine import fixtures
from conformance.engine.ledger import sweep
from conformance.engine.ledger.entries import Ledger
from conformance.engine.ledger.processes import PROCESS, named
from conformance.engine.options import BadOption
from conformance.engine.targets.resolve import ResolvedTarget
from refimpl.cni import config, contract
from refimpl.cni.contract import ShapeError, Verb
from refimpl.cni.execute import Outcome, Processes, Request
from refimpl.cni.host import Host
from refimpl.wire.client import Unreachable

# What a runtime would pass for a capability, where the user says nothing (CNI conventions).
_CAPABILITY_ARGS: dict[str, Any] = {
    "mac": "02:00:5e:10:00:07",
    "portMappings": [{"hostPort": 18080, "containerPort": 80, "protocol": "tcp"}],
    "bandwidth": {
        "ingressRate": 8_000_000,
        "ingressBurst": 8_000_000,
        "egressRate": 8_000_000,
        "egressBurst": 8_000_000,
    },
}

# The kinds of links that the reference plugins make.
_LINKS: dict[str, tuple[str, ...]] = {
    "bridge": ("veth", "bridge"),
    "ptp": ("veth",),
    "bandwidth": ("ifb",),
    **{name: (name,) for name in ("dummy", "ipvlan", "macvlan", "tap", "vlan", "vrf")},
}


def open_plugin(resolved: ResolvedTarget, path: Path) -> CniTarget:
    """The program at the path as `exec:PATH`; raises BadOption for its configuration, Unreachable
    where it does not answer."""
    chosen: CniSettings = resolved.settings
    kind, document = chosen_document(path.name, chosen)
    ledger = Ledger(sweep.ledger_path("cni", resolved.text, resolved.run_id), resolved.text)
    # The environment of a plugin is the contract's: a mark of ours in it could change what it does.
    processes = Processes(lambda pid: ledger.during(PROCESS, named(pid)))
    cni_path = directories(str(path.parent), chosen.path)
    versions, version = _asked(path, processes)
    host, no_netns, leave = _sandboxed()

    def end() -> None:
        leave()
        ledger.close()

    if not _given(chosen) and not has_ipv6():
        document = ipv4_only(document)
    subject = PluginSubject(str(path), chosen.kind or kind, document, versions, cni_path, chosen)
    if host:
        no_netns = _no_link(path.name, host)
    plugins = InstalledPlugins(subjects=[subject], executor=processes, host=host, no_netns=no_netns)
    return CniTarget(
        resolved,
        subject.name,
        version=version,
        newest=subject.newest,
        log=plugins.log,
        plugins=plugins,
        at_end=end,
    )


def chosen_document(name: str, chosen: CniSettings) -> tuple[str, dict[str, Any]]:
    """The kind of the plugin and the object it gets, from the user's configuration or ours."""
    where = fixtures.folder() / "networks" / f"{chosen.config or name}.conflist"
    path = Path(chosen.config) if _given(chosen) else where
    if not path.is_file():
        raise BadOption(
            f"{chosen.config or name}: no such configuration; --config FILE names a .conf or "
            ".conflist in which the plugin is a `type`"
        )
    try:
        network = config.load(path)
    except config.ConfigError as error:
        raise BadOption(f"--config {error}") from error
    for place, plugin in enumerate(network.plugins):
        if plugin.type == name:
            return "chained" if place else "interface", derived(plugin.raw, chosen)
    for plugin in network.plugins:
        if plugin.ipam_type == name:
            return "ipam", derived(plugin.raw, chosen)
    types = ", ".join(plugin.type for plugin in network.plugins)
    raise BadOption(f"--config {path}: no plugin of type {name} in it, there is {types}")


def _given(chosen: CniSettings) -> bool:
    """Whether the configuration is the user's own file, and none of ours."""
    return bool(chosen.config) and Path(chosen.config).exists()


def derived(raw: Mapping[str, Any], chosen: CniSettings) -> dict[str, Any]:
    """The plugin object with runtimeConfig in the place of capabilities (CNI 1.1, section 3)."""
    document = {key: value for key, value in raw.items() if key != "capabilities"}
    declared = raw.get("capabilities") or {}
    known = {**_CAPABILITY_ARGS, **chosen.capability_args}
    passed = {name: known[name] for name, on in declared.items() if on and name in known}
    return {**document, "runtimeConfig": passed} if passed else document


def _asked(path: Path, processes: Processes) -> tuple[tuple[str, ...], str]:
    """The versions the plugin advertises, and its own version where it tells one."""
    request = Request.of(Verb.VERSION, {"cniVersion": contract.LATEST})
    try:
        outcome = processes.run(path, request)
    except OSError as error:
        raise Unreachable(f"{path}: cannot be run: {error.strerror}") from error
    if outcome.timed_out:
        raise Unreachable(f"{path}: no answer to VERSION within {outcome.duration_s:.0f} s")
    printed = _own_version(processes.run(path, Request("", {}, b"")))
    return _supported(outcome), printed or _module_version(path)


def _supported(outcome: Outcome) -> tuple[str, ...]:
    try:
        answer = outcome.document
    except ShapeError:
        return ()
    listed = answer.get("supportedVersions") if isinstance(answer, dict) else None
    return tuple(v for v in listed if isinstance(v, str)) if isinstance(listed, list) else ()


def _own_version(outcome: Outcome) -> str:
    """Releases of the reference plugins print `CNI bridge plugin v1.10.0` when run without verb."""
    printed = outcome.stderr.decode(errors="replace")
    match = re.search(r"\bplugin v?(\d+\.\d+\.\d+\S*)", printed)
    return match.group(1) if match else ""


def _module_version(path: Path) -> str:
    """What `go install MODULE@VERSION` notes in the program; other builds leave it out."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as program:
        match = re.search(rb"\nmod\t\S+\tv(\d+\.\d+\.\d+\S*)\t", program)
        return match.group(1).decode(errors="replace") if match else ""


def _sandboxed() -> tuple[Host | None, str, Callable[[], object]]:
    from refimpl.cni.host import kernel, sandbox

    reason = sandbox.why_not()
    if reason:
        return None, reason, lambda: None
    entered = sandbox.enter()
    host = kernel.Kernel()
    return host, "", entered.leave


def _no_link(name: str, host: Host) -> str:
    """Why a plugin cannot make its links, "" where it can: kernels are built without some kinds."""
    lacking = [kind for kind in _LINKS.get(name, ()) if not host.supports(kind)]
    return f"this kernel makes no {' and no '.join(lacking)} links" if lacking else ""
