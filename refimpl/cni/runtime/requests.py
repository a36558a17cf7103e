"""What a plugin gets: the document on stdin and the environment, as a profile has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from refimpl.cni import config, contract
from refimpl.cni.config import ConfigError, NetworkList, PluginConf
from refimpl.cni.contract import LATEST, Verb
from refimpl.cni.execute import Request
from refimpl.cni.runtime.attachment import NOBODY, Attachment
from refimpl.cni.runtime.choices import Requests
from refimpl.cni.runtime.gojson import Struct, as_map, marshal
from refimpl.documents import json as documents

__all__ = ["document", "environment", "probe", "version_of"]


def version_of(rules: Requests, network: NetworkList, *, future: str = "refuse") -> str:
    """The `cniVersion` that plugins are sent; "" only where libcni sends it empty.

    Raises ConfigError where no version is supported, unless `future` is "send".
    """
    if rules.document == "exact" or future == "refuse":
        return config.negotiated(network)
    newest = contract.version_key(LATEST)
    own = str(network.raw.get("cniVersion", ""))
    if not network.cni_versions:
        return own
    offered = [*network.cni_versions, *([own] if own else [])]
    known = [each for each in offered if contract.version_key(each) <= newest]
    return max(known, key=contract.version_key) if known else own


def document(
    rules: Requests,
    network: NetworkList,
    plugin: PluginConf,
    verb: Verb,
    *,
    version: str,
    prev_result: Mapping[str, Any] | None = None,
    capability_args: Mapping[str, Any] | None = None,
    valid: Iterable[tuple[str, str]] | None = None,
) -> bytes:
    (
        """stdin of one call. `valid`: of GC, the attachments to keep; None leaves the member out.

    Raises ConfigError where a Go runtime cannot decode the plugin's object.
    """
        ""
    )
    pairs = None if valid is None else _pairs(valid)
    if rules.document == "go":
        try:
            sent = _go(rules, network, plugin, version, prev_result, capability_args, pairs)
        except ValueError as error:
            raise ConfigError(f'network "{network.name}", plugin {plugin.type}: {error}') from error
        return marshal(sent)
    sent = config.request(
        network,
        plugin,
        verb,
        prev_result=prev_result,
        runtime_config=capability_args,
        attachments=pairs,
        version=version,
    )
    return documents.dump(sent)


def _pairs(valid: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [Struct(containerID=container_id, ifname=ifname) for container_id, ifname in valid]


def _go(
    rules: Requests,
    network: NetworkList,
    plugin: PluginConf,
    version: str,
    prev_result: Mapping[str, Any] | None,
    capability_args: Mapping[str, Any] | None,
    pairs: list[dict[str, str]] | None,
) -> dict[str, Any]:
    """The plugin's object, all of it, with what libcni sets (1.3.1, libcni/conf.go)."""
    sent: dict[str, Any] = as_map(plugin.raw)
    sent |= {"name": network.name, "cniVersion": version}
    if prev_result is not None:
        sent["prevResult"] = prev_result
    if pairs is not None:
        valid = pairs or (None if rules.gc_none == "null" else [])
        sent |= dict.fromkeys(rules.gc_keys, valid)
    has = capability_args or {}
    wanted = {
        name: has[name] for name, needed in plugin.capabilities.items() if needed and name in has
    }
    if wanted:
        # The second turn through maps: prevResult forgets the order of its type.
        sent = {**as_map(sent), "runtimeConfig": wanted}
    return sent


def environment(
    rules: Requests,
    verb: Verb,
    path: str,
    ambient: Mapping[str, str],
    attachment: Attachment = NOBODY,
) -> dict[str, str]:
    """Every variable the plugin is started with; `ambient` is the runtime's own environment."""
    given = {
        "container_id": attachment.container_id,
        "netns": attachment.netns,
        "ifname": attachment.ifname,
        "args": attachment.args_text,
        "path": path,
    }
    if rules.environment == "verb":
        kept = {name: ambient[name] for name in rules.kept if name in ambient}
        return {**kept, **contract.variables(verb, **given)}
    names = ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS", "CNI_PATH")
    return {
        **ambient,
        "CNI_COMMAND": str(verb),
        **dict(zip(names, given.values(), strict=True)),
    }


def probe(rules: Requests, path: str, ambient: Mapping[str, str]) -> Request:
    """The request of VERSION (CNI 1.1, "VERSION"): the newest version we know on stdin."""
    env = environment(rules, Verb.VERSION, path, ambient)
    stdin = documents.dump({"cniVersion": LATEST})
    return Request(Verb.VERSION, {**env, **rules.probe}, stdin)
