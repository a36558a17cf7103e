"""One call as the plugin sees it: environment and stdin, checked in the order a runtime reads."""

from __future__ import annotations

from refimpl.cni.format.errors import (
    DECODE,
    INCOMPATIBLE_VERSION,
    INVALID_CONFIG,
    INVALID_ENVIRONMENT,
    CniError,
)
from refimpl.cni.format.names import ifname_problem, is_name
from refimpl.cni.format.versions import SINCE, VERSIONS, at_least
from refimpl.cni.plugins.errors import Died
from refimpl.cni.plugins.json import parse_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from refimpl.cni.plugins.process import Process

    Executed = tuple[int, bytes, bytes]
    ExecDelegate = Callable[[str, Mapping[str, str], bytes], Executed]

__all__ = ["Call", "asked_version", "check"]

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


class Call:
    """A call that is being answered. `config` is the decoded stdin, `version` the one it asks for;
    `knobs` are the breaches that are to be committed in it, `log` goes to stderr."""

    def __init__(
        self,
        environ: Mapping[str, str],
        stdin: bytes,
        settings: dict[str, Any],
        knobs: dict[str, dict[str, Any]],
        execute: ExecDelegate,
    ) -> None:
        self.environ, self.stdin, self.settings = environ, stdin, settings
        self.knobs, self.execute = knobs, execute
        self.verb = environ.get("CNI_COMMAND", "")
        self.config: dict[str, Any] = {}
        self.version = VERSIONS[-1]
        self.log: list[bytes] = []
        self.process: Process | None = None

    @property
    def container_id(self) -> str:
        """CNI_CONTAINERID: with `ifname` the key of the attachment."""
        if self.breach("key-by-pod"):
            for part in self.environ.get("CNI_ARGS", "").split(";"):
                if part.startswith("K8S_POD_NAME="):
                    return part.partition("=")[2]
        return self.environ.get("CNI_CONTAINERID", "")

    @property
    def ifname(self) -> str:
        """CNI_IFNAME."""
        return self.environ.get("CNI_IFNAME", "")

    @property
    def netns(self) -> str:
        """CNI_NETNS, "" when the namespace is gone."""
        return self.environ.get("CNI_NETNS", "")

    @property
    def name(self) -> str:
        """The network's name."""
        return str(self.config.get("name", ""))

    def breach(self, knob: str) -> dict[str, Any] | None:
        """The arguments of a fault that is to be committed in this call, None otherwise."""
        return self.knobs.get(knob)

    def point(self, name: str) -> None:
        """A place where a call can be told to die, with what it did up to here left behind."""
        fault = self.breach("crash-after")
        if fault and fault.get("point", "start") == name:
            if self.process is not None:
                self.process.die()
            raise Died(-9)

    def say(self, text: str) -> None:
        """One line for stderr."""
        self.log.append(text.encode(errors="backslashreplace") + b"\n")


def asked_version(stdin: bytes) -> str:
    """The cniVersion of a request as far as it can be read, "" otherwise: errors echo it."""
    try:
        asked = parse_object(stdin).get("cniVersion", "0.1.0")
    except ValueError:
        return ""
    return (asked or "0.1.0") if isinstance(asked, str) else ""


def check(call: Call, versions: tuple[str, ...]) -> None:
    """Reads the request into `call`. Raises CniError: what is missing or wrong, all at once."""
    _check_environment(call)
    try:
        call.config = parse_object(call.stdin)
    except ValueError as error:
        raise CniError(DECODE, f"stdin is not the JSON object of a request: {error}") from None
    _check_version(call, versions)
    _check_name(call)
    for key, (kind, text) in _TYPES.items():
        if not isinstance(call.config.get(key, kind()), kind):
            raise CniError(INVALID_CONFIG, f"{key} is {call.config[key]!r}; it has to be {text}")
    given = call.config.get("prevResult")
    if call.verb in ("ADD", "CHECK") and not isinstance(given, dict | None):
        raise CniError(INVALID_CONFIG, f"prevResult is {given!r}; it has to be an object")
    kind_of = call.config.get("ipam", {}).get("type", "")
    if not isinstance(kind_of, str):
        raise CniError(INVALID_CONFIG, f"ipam.type is {kind_of!r}; it has to be a string")
    _check_dns(call.config.get("dns", {}))


def _check_dns(dns: dict[str, Any]) -> None:
    for key in ("nameservers", "search", "options"):
        value = dns.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise CniError(
                INVALID_CONFIG, f"dns.{key} is {value!r}; it has to be an array of strings"
            )
    if not isinstance(dns.get("domain", ""), str):
        raise CniError(INVALID_CONFIG, f"dns.domain is {dns['domain']!r}; it has to be a string")


def _check_environment(call: Call) -> None:
    required = REQUIRED[call.verb]
    if call.breach("needs-cni-path") and "CNI_PATH" not in required:
        required = (*required, "CNI_PATH")
    missing = [name for name in required if not call.environ.get(name)]
    if missing and not call.breach("no-variable-check"):
        named = missing[:1] if call.breach("one-missing-variable") else missing
        raise CniError(
            INVALID_ENVIRONMENT,
            f"{call.verb} needs {', '.join(named)}, not set or empty; "
            "the runtime has to set what CNI 1.1 asks for",
        )
    if call.verb not in ("ADD", "DEL", "CHECK"):
        return
    given = call.environ.get("CNI_CONTAINERID", "")
    if not is_name(given) and not call.breach("no-id-check"):
        raise CniError(
            INVALID_ENVIRONMENT,
            f"CNI_CONTAINERID is {given!r}; it begins with a letter or "
            "digit, then letters, digits, '_', '.', '-'",
        )
    if (problem := ifname_problem(call.ifname)) and not call.breach("no-ifname-check"):
        raise CniError(INVALID_ENVIRONMENT, f"CNI_IFNAME is {call.ifname!r}: {problem}")


def _check_version(call: Call, versions: tuple[str, ...]) -> None:
    asked = call.config.get("cniVersion", "0.1.0")
    if not isinstance(asked, str):
        raise CniError(DECODE, f"cniVersion is {asked!r}; it has to be a string")
    call.version = asked or "0.1.0"
    if call.version not in versions:
        if not call.breach("any-version"):
            raise CniError(
                INCOMPATIBLE_VERSION,
                f"cniVersion {call.version} is not supported",
                f"the request asks for {call.version}, this plugin speaks {', '.join(versions)}",
            )
        call.version = versions[-1]
    since = SINCE[call.verb]
    if not at_least(call.version, since) and not call.breach("verb-in-any-version"):
        able = ", ".join(version for version in versions if at_least(version, since))
        raise CniError(
            INCOMPATIBLE_VERSION,
            f"{call.verb} came with CNI {since}",
            f"the request asks for {call.version}, this plugin does it in {able or 'no version'}",
        )


def _check_name(call: Call) -> None:
    name = call.config.get("name")
    if call.breach("no-name-check"):
        return
    if not isinstance(name, str) or not is_name(name):
        what = "missing" if name is None else f"{name!r}"
        raise CniError(
            INVALID_CONFIG,
            f"name is {what}; a network's name begins with a letter or digit, "
            "then letters, digits, '_', '.', '-'",
        )
