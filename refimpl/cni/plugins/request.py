"""The request of a call, environment and stdin, checked in the order a runtime reads."""

from __future__ import annotations

from refimpl.cni.format.errors import (
    DECODE,
    INCOMPATIBLE_VERSION,
    INVALID_CONFIG,
    INVALID_ENVIRONMENT,
    CniError,
)
from refimpl.cni.format.names import ifname_problem, is_name
from refimpl.cni.format.versions import SINCE, at_least
from refimpl.cni.plugins.json import parse_object
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call

__all__ = ["check"]

REQUIRED = {
    "ADD": ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"),
    "DEL": ("CNI_CONTAINERID", "CNI_IFNAME"),
    "CHECK": ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"),
    "STATUS": (),
    "GC": ("CNI_PATH",),
}
"""CNI 1.1 "Parameters", by verb. CNI_NETNS may be missing on DEL: the namespace is gone then."""

_TYPES: dict[str, tuple[type, str]] = {
    "type": (str, "a string"),
    "ipam": (dict, "an object"),
    "dns": (dict, "an object"),
    "args": (dict, "an object"),
    "runtimeConfig": (dict, "an object"),
    "capabilities": (dict, "an object"),
    "ipMasq": (bool, "a boolean"),
}


@step
def check(call: Call, versions: tuple[str, ...]) -> None:
    """Reads the request into `call`. Raises CniError: what is missing or wrong, all at once."""
    _check_environment(call)
    try:
        call.config = parse_object(call.stdin)
    except ValueError as error:
        raise CniError(DECODE, f"stdin is not the JSON object of a request: {error}") from None
    check_version(call, versions)
    check_since(call, versions)
    check_name(call)
    _check_types(call.config, call.verb)
    _check_dns(call.config.get("dns", {}))


def _check_environment(call: Call) -> None:
    if names := missing(call):
        raise CniError(
            INVALID_ENVIRONMENT,
            f"{call.verb} needs {', '.join(names)}, not set or empty; "
            "the runtime has to set what CNI 1.1 asks for",
        )
    if call.verb in ("ADD", "DEL", "CHECK"):
        check_id(call)
        check_ifname(call)


@step
def missing(call: Call) -> list[str]:
    """The variables that the verb needs and does not have."""
    return [name for name in REQUIRED[call.verb] if not call.environ.get(name)]


@step
def check_id(call: Call) -> None:
    """Raises CniError for a container id that is none."""
    given = call.environ.get("CNI_CONTAINERID", "")
    if not is_name(given):
        raise CniError(
            INVALID_ENVIRONMENT,
            f"CNI_CONTAINERID is {given!r}; it begins with a letter or "
            "digit, then letters, digits, '_', '.', '-'",
        )


@step
def check_ifname(call: Call) -> None:
    """Raises CniError for a name that no interface can have."""
    if problem := ifname_problem(call.ifname):
        raise CniError(INVALID_ENVIRONMENT, f"CNI_IFNAME is {call.ifname!r}: {problem}")


@step
def check_version(call: Call, versions: tuple[str, ...]) -> None:
    """Raises CniError for a cniVersion that is not among `versions`."""
    named = call.config.get("cniVersion", "0.1.0")
    if not isinstance(named, str):
        raise CniError(DECODE, f"cniVersion is {named!r}; it has to be a string")
    call.version = named or "0.1.0"
    if call.version not in versions:
        raise CniError(
            INCOMPATIBLE_VERSION,
            f"cniVersion {call.version} is not supported",
            f"the request asks for {call.version}, this plugin speaks {', '.join(versions)}",
        )


@step
def check_since(call: Call, versions: tuple[str, ...]) -> None:
    """Raises CniError for a verb that is newer than the configuration."""
    since = SINCE[call.verb]
    if not at_least(call.version, since):
        able = ", ".join(version for version in versions if at_least(version, since))
        raise CniError(
            INCOMPATIBLE_VERSION,
            f"{call.verb} came with CNI {since}",
            f"the request asks for {call.version}, this plugin does it in {able or 'no version'}",
        )


@step
def check_name(call: Call) -> None:
    """Raises CniError for a network without a name, or with one that is none."""
    name = call.config.get("name")
    if not isinstance(name, str) or not is_name(name):
        what = "missing" if name is None else f"{name!r}"
        raise CniError(
            INVALID_CONFIG,
            f"name is {what}; a network's name begins with a letter or digit, "
            "then letters, digits, '_', '.', '-'",
        )


def _check_types(config: dict[str, Any], verb: str) -> None:
    for key, (kind, text) in _TYPES.items():
        if not isinstance(config.get(key, kind()), kind):
            raise CniError(INVALID_CONFIG, f"{key} is {config[key]!r}; it has to be {text}")
    prev_result = config.get("prevResult")
    if verb in ("ADD", "CHECK") and not isinstance(prev_result, dict | None):
        raise CniError(INVALID_CONFIG, f"prevResult is {prev_result!r}; it has to be an object")
    ipam = config.get("ipam", {}).get("type", "")
    if not isinstance(ipam, str):
        raise CniError(INVALID_CONFIG, f"ipam.type is {ipam!r}; it has to be a string")


def _check_dns(dns: dict[str, Any]) -> None:
    for key in ("nameservers", "search", "options"):
        value = dns.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise CniError(
                INVALID_CONFIG, f"dns.{key} is {value!r}; it has to be an array of strings"
            )
    if not isinstance(dns.get("domain", ""), str):
        raise CniError(INVALID_CONFIG, f"dns.domain is {dns['domain']!r}; it has to be a string")
