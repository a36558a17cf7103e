"""The interface plugin: a link in the container, its end on a bridge, addresses from IPAM.

It does what a plugin like bridge does, in a kernel that is a file. Configuration: bridge, mtu, mac,
isGateway, isDefaultGateway, ipMasq, dns, ipam; runtimeConfig: mac, mtu.
"""

from __future__ import annotations

from refimpl.cni.format.addresses import network_of
from refimpl.cni.format.errors import (
    INCOMPATIBLE_VERSION,
    INVALID_CONFIG,
    NOT_AVAILABLE,
    CniError,
)
from refimpl.cni.format.versions import VERSIONS
from refimpl.cni.plugins import delegate, kernel, spaces
from refimpl.cni.plugins.checks import check_mac, previous, valid_pairs
from refimpl.cni.plugins.errors import DELEGATE
from refimpl.cni.plugins.kinds import links
from refimpl.cni.plugins.kinds.attachment import check_attachment
from refimpl.cni.plugins.results import load, shape
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call

    Inner = dict[str, Any]

__all__ = ["add", "check", "delete", "gc", "status"]

_KEYS: dict[str, tuple[type, str]] = {
    "bridge": (str, "a string"),
    "mac": (str, "a string"),
    "mtu": (int, "an integer"),
    "isGateway": (bool, "a boolean"),
    "isDefaultGateway": (bool, "a boolean"),
}


@step
def add(call: Call) -> dict[str, Any]:
    """Makes the attachment and returns its result. Raises CniError; nothing is left then."""
    spaces.refuse_own(call)
    _check_config(call)
    if call.config.get("prevResult") is not None:
        previous(call)
    state = kernel.read(spaces.kernel_path(call))
    spaces.usable(call, state)
    check_free(call, state)
    given = addresses(call)
    try:
        return attached(call, given)
    except CniError:
        if ipam(call):
            delegate.undo(call, ipam(call))
        raise


@step
def check_free(call: Call, state: dict[str, Any]) -> None:
    """Raises CniError when the names of the links are taken: before IPAM is asked, as a DEL of that
    would free the address of the first attachment."""
    links.check_free(call, state)


@step
def attached(call: Call, given: Inner) -> dict[str, Any]:
    """The result of links with these addresses, which are made. Raises CniError."""
    with kernel.Change(spaces.kernel_path(call)) as state:
        links.check_free(call, state)
        result = _joined(call, links.attach(call, state, given))
        try:
            return shape(result, call.version)
        except ValueError as error:
            raise CniError(
                INCOMPATIBLE_VERSION, f"no result of version {call.version}: {error}"
            ) from None


def _joined(call: Call, own: Inner) -> Inner:
    """CNI 1.1 ADD: a prevResult is not dropped; what this plugin made comes behind it."""
    if call.config.get("prevResult") is None:
        return own
    result = previous(call)
    before = len(result.get("interfaces", ()))
    for ip in own.get("ips", ()):
        ip["interface"] += before
    for key, value in own.items():
        whole = key in ("interfaces", "ips", "routes")
        result[key] = [*result.get(key, ()), *value] if whole else value
    return result


def _check_config(call: Call) -> None:
    runtime = call.config.get("runtimeConfig", {})
    for where, given in (("", call.config), ("runtimeConfig.", runtime)):
        for key, (kind, text) in _KEYS.items():
            value = given.get(key, kind())
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                raise CniError(INVALID_CONFIG, f"{where}{key} is {value!r}; it has to be {text}")
        check_mac(where, given.get("mac", ""))
        mtu = given.get("mtu", 0)
        if mtu and not 68 <= mtu <= 65535:
            raise CniError(INVALID_CONFIG, f"{where}mtu is {mtu}; it has to be 68 to 65535")


def ipam(call: Call) -> str:
    """The name of the IPAM plugin, "" for a network without addresses (layer 2)."""
    return str(call.config.get("ipam", {}).get("type", ""))


@step
def addresses(call: Call) -> Inner:
    """What IPAM answers, in the inner form; {} for a network without addresses. Raises CniError."""
    if not ipam(call):
        return {}
    document = delegate.add(call, ipam(call))
    try:
        given = usable(call, document)
    except ValueError as error:
        delegate.undo(call, ipam(call))
        raise CniError(DELEGATE, f"the result of {ipam(call)} cannot be used: {error}") from None
    return _own_words(call, given)


@step
def usable(call: Call, document: dict[str, Any]) -> Inner:
    """IPAM's result in the inner form. Raises ValueError for one that nothing can be done with."""
    version = document.get("cniVersion") or call.version
    if version not in VERSIONS:
        raise ValueError(f"its cniVersion is {version!r}, which is no known version")
    given = load(document, version)
    require_address(call, given)
    return given


@step
def require_address(call: Call, given: Inner) -> None:  # noqa: ARG001
    """Raises ValueError without an address."""
    if not given.get("ips"):
        raise ValueError("it has no address")


def _own_words(call: Call, given: Inner) -> Inner:
    """Without the delegate's interfaces, routes normalised, the network's own dns preferred."""
    given.pop("interfaces", None)
    for route in given.get("routes", ()):
        route["dst"] = network_of(route["dst"])
    if call.config.get("isDefaultGateway"):
        known = {route["dst"] for route in given.get("routes", ())}
        for ip in given.get("ips", ()):
            default = "::/0" if ":" in ip["address"] else "0.0.0.0/0"
            if ip.get("gateway") and default not in known:
                given.setdefault("routes", []).append({"dst": default, "gw": ip["gateway"]})
                known.add(default)
    if call.config.get("dns"):
        given["dns"] = call.config["dns"]
    return given


@step
def delete(call: Call) -> None:
    """Undoes ADD as far as anything is left: the link whatever IPAM says. Raises CniError when IPAM
    does, after the link is gone."""
    spaces.refuse_own(call)
    failure = release(call)
    detach(call)
    if failure:
        raise failure


@step
def release(call: Call) -> CniError | None:
    """Has IPAM free the addresses; the failure, None when there was none."""
    return _ask_ipam(call)


@step
def detach(call: Call) -> None:
    """Removes the links; a DEL of nothing makes no kernel file. Raises CniError."""
    if links.present(call):
        with kernel.Change(spaces.kernel_path(call)) as state:
            links.detach(call, state)


@step
def check(call: Call) -> None:
    """Compares the kernel with prevResult, then asks IPAM. Raises CniError: what is missing."""
    spaces.refuse_own(call)
    check_attachment(call, spaces.look(call), previous(call))
    check_ipam(call)


@step
def check_ipam(call: Call) -> None:
    """Raises CniError when IPAM does."""
    if failure := _ask_ipam(call):
        raise failure


@step
def gc(call: Call) -> None:
    """Removes what is no longer valid of this network, IPAM's part included. Raises CniError."""
    pairs = valid_pairs(call)
    failure = collect_addresses(call)  # go on, report at the end
    if pairs is not None and links.stale(call, spaces.look(call), pairs):
        with kernel.Change(spaces.kernel_path(call)) as state:
            for space, name in links.stale(call, state, pairs):
                kernel.remove_link(state, space, name)
            links.tidy(state)
    if failure:
        raise failure


@step
def collect_addresses(call: Call) -> CniError | None:
    """Has IPAM collect its part; the failure, None when there was none."""
    return _ask_ipam(call)


def _ask_ipam(call: Call) -> CniError | None:
    try:
        if ipam(call):
            delegate.ask(call, ipam(call))
    except CniError as failure:
        return failure
    return None


@step
def status(call: Call) -> None:
    """Ready when the kernel file can be read and IPAM is. Raises CniError."""
    try:
        kernel.read(spaces.kernel_path(call))
    except CniError as failure:
        raise CniError(NOT_AVAILABLE, f"not ready for ADD: {failure.msg}") from None
    status_of_ipam(call)


@step
def status_of_ipam(call: Call) -> None:
    """Raises CniError when IPAM is not ready, or cannot be asked at all."""
    if failure := _ask_ipam(call):
        if failure.code == DELEGATE:
            failure.code = NOT_AVAILABLE
        raise failure
