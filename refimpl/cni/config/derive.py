"""What a plugin is sent on stdin (CNI 1.1, "Deriving request configuration")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from refimpl.cni.config.model import ConfigError, NetworkList, PluginConf
from refimpl.cni.contract import VERSIONS, Verb, at_least, version_key

ATTACHMENT_VERBS = (Verb.ADD, Verb.DEL, Verb.CHECK)
# A plugin object may carry these by mistake; only the runtime has the right to send them.
RUNTIMES_OWN = ("capabilities", "runtimeConfig", "prevResult")
PREFIX = "cni.dev/"
VALID_ATTACHMENTS = "cni.dev/valid-attachments"


def negotiated(network: NetworkList, supported: Sequence[str] = VERSIONS) -> str:
    """The highest version that the document offers and `supported` has; raises ConfigError."""
    common = [version for version in network.declared_versions if version in supported]
    if not common:
        raise ConfigError(
            f'network "{network.name}" offers version {", ".join(network.declared_versions)}; '
            f'supported are {", ".join(supported)}: set "cniVersion" to one of them'
        )
    return max(common, key=version_key)


def request(
    network: NetworkList,
    plugin: PluginConf,
    verb: str,
    *,
    prev_result: Mapping[str, Any] | None = None,
    runtime_config: Mapping[str, Any] | None = None,
    attachments: Sequence[Mapping[str, str]] | None = None,
    version: str | None = None,
) -> dict[str, Any]:
    """The object for one call: the plugin's own members unchanged, the runtime's set or removed.

    `runtime_config`: capability -> value the runtime has; `attachments`: of GC, the valid ones as
    {"containerID", "ifname"}; `version`: instead of the negotiated one. Nested values are shared
    with the network: do not alter them. Raises ConfigError where no version is common.
    """
    chosen = negotiated(network) if version is None else version
    sent: dict[str, Any] = {"cniVersion": chosen}
    if verb == Verb.VERSION:
        return sent
    sent["name"] = network.name
    for key, value in plugin.raw.items():
        if key not in sent and key not in RUNTIMES_OWN and not key.startswith(PREFIX):
            sent[key] = value
    if verb in ATTACHMENT_VERBS:
        wanted = _runtime_config(plugin, runtime_config or {})
        sent.update({"runtimeConfig": wanted} if wanted else {})
        if prev_result is not None and _takes_result(verb, chosen):
            sent["prevResult"] = dict(prev_result)
    if verb == Verb.GC and attachments is not None:
        sent[VALID_ATTACHMENTS] = [dict(attachment) for attachment in attachments]
    return sent


def _runtime_config(plugin: PluginConf, has: Mapping[str, Any]) -> dict[str, Any]:
    """What was declared and is at hand; a capability declared false is one not declared."""
    return {
        name: has[name] for name, wanted in plugin.capabilities.items() if wanted and name in has
    }


def _takes_result(verb: str, version: str) -> bool:
    """DEL has had a prevResult since 0.4.0; ADD as long as there are lists."""
    try:
        return verb == Verb.ADD or at_least(version, "0.4.0")
    except ValueError:
        return True
