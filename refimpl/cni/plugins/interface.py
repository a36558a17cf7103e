"""The interface plugin: a link in the container, its end on a bridge, addresses from IPAM.

It does what a plugin like bridge does, in a kernel that is a file. Configuration: bridge, mtu, mac,
isGateway, isDefaultGateway, ipMasq, dns, ipam; runtimeConfig: mac, mtu.
"""

from __future__ import annotations

from refimpl.cni.format.addresses import network_of
from refimpl.cni.format.errors import INCOMPATIBLE_VERSION, INVALID_CONFIG, NOT_AVAILABLE, CniError
from refimpl.cni.format.versions import VERSIONS
from refimpl.cni.plugins import delegate, kernel, links, spaces
from refimpl.cni.plugins.checks import check_attachment, previous, valid_pairs
from refimpl.cni.plugins.errors import DELEGATE
from refimpl.cni.plugins.results import load, shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.request import Call

    Inner = dict[str, Any]

__all__ = ["add", "check", "delete", "gc", "status"]

_KEYS: dict[str, tuple[type, str]] = {
    "bridge": (str, "a string"),
    "mac": (str, "a string"),
    "mtu": (int, "an integer"),
    "isGateway": (bool, "a boolean"),
    "isDefaultGateway": (bool, "a boolean"),
}


def add(call: Call) -> dict[str, Any]:
    """Makes the attachment and returns its result. Raises CniError; nothing is left then."""
    spaces.refuse_own(call)
    _check_config(call)
    if call.config.get("prevResult") is not None:
        previous(call)
    path = spaces.kernel_path(call)
    state = kernel.read(path)
    spaces.usable(call, state)
    if failure := links.clash(call, state):  # before IPAM: its DEL would free the first's address
        if call.breach("rollback-frees-first"):
            delegate.undo(call, _ipam(call))
        if call.breach("drop-link-on-failure"):
            with kernel.Change(path) as state:
                kernel.remove_link(state, kernel.namespace(state, call.netns) or {}, call.ifname)
        raise failure
    call.point("start")
    given = _addresses(call)
    try:
        call.point("ipam")
        document = _attached(call, path, given)
    except CniError:
        if _ipam(call):
            delegate.undo(call, _ipam(call))
        raise
    spaces.refuse_own_late(call, document)
    return document


def _attached(call: Call, path: str, given: Inner) -> dict[str, Any]:
    with kernel.Change(path) as state:
        if failure := links.clash(call, state):
            raise failure
        result = _amended(call, links.attach(call, state, given))
        try:
            document = shape(result, call.version)
        except ValueError as error:
            raise CniError(
                INCOMPATIBLE_VERSION, f"no result of version {call.version}: {error}"
            ) from None
    call.point("link")
    return document


def _amended(call: Call, mine: Inner) -> Inner:
    """CNI 1.1 ADD: a prevResult is not dropped; what this plugin made comes behind it."""
    if call.config.get("prevResult") is None:
        return mine
    found = previous(call)
    before = len(found.get("interfaces", ()))
    for ip in mine.get("ips", ()):
        ip["interface"] += before
    for key, value in mine.items():
        whole = key in ("interfaces", "ips", "routes")
        found[key] = [*found.get(key, ()), *value] if whole else value
    return found


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


def check_mac(where: str, mac: object) -> None:
    """Raises CniError for anything but six octets, or for a group's address."""
    parts = mac.split(":") if isinstance(mac, str) else []
    digits = "0123456789abcdefABCDEF"
    fine = len(parts) == 6 and all(len(p) == 2 and set(p) <= set(digits) for p in parts)
    if mac != "" and not (fine and not int(parts[0], 16) & 1):
        raise CniError(
            INVALID_CONFIG, f"{where}mac is {mac!r}; it has to be like 02:42:0a:01:00:02"
        )


def _ipam(call: Call) -> str:
    return str(call.config.get("ipam", {}).get("type", ""))


def _addresses(call: Call) -> Inner:
    """What IPAM answers, in the inner form; {} for a network without addresses (layer 2)."""
    if not _ipam(call):
        return {}
    answer = delegate.add(call, _ipam(call))
    try:
        version = answer.get("cniVersion") or call.version
        if version not in VERSIONS:
            raise ValueError(f"its cniVersion is {version!r}, which is no known version")
        given = load(answer, version)
        if not given.get("ips") and not call.breach("no-address-accepted"):
            raise ValueError("it has no address")
    except ValueError as error:
        if call.breach("accept-junk-ipam"):
            return {}
        delegate.undo(call, _ipam(call))
        raise CniError(DELEGATE, f"the result of {_ipam(call)} cannot be used: {error}") from None
    return _own_words(call, given)


def _own_words(call: Call, given: Inner) -> Inner:
    """Without the delegate's interfaces, routes normalised, the network's own dns preferred."""
    given.pop("interfaces", None)
    for route in given.get("routes", ()):
        route["dst"] = network_of(route["dst"])
    if call.config.get("isDefaultGateway"):
        known = {route["dst"] for route in given.get("routes", ())}
        for ip in given["ips"]:
            default = "::/0" if ":" in ip["address"] else "0.0.0.0/0"
            if ip.get("gateway") and default not in known:
                given.setdefault("routes", []).append({"dst": default, "gw": ip["gateway"]})
                known.add(default)
    if call.config.get("dns"):
        given["dns"] = call.config["dns"]
    return given


def delete(call: Call) -> None:
    """Undoes ADD as far as anything is left: the link first, whatever IPAM says. Raises CniError
    when IPAM does, after the link is gone."""
    spaces.refuse_own(call)
    state = spaces.look(call)
    kind = kernel.state_of(state, call.netns)
    _broken_deletes(call, state, kind)
    failure = None
    gone = kind in ("missing", "not a namespace")
    space = kernel.namespace(state, call.netns)
    absent = not call.netns or space is None or call.ifname not in space["links"]
    skipped = (
        call.breach("forget-ipam")
        or (gone and call.breach("forget-ipam-without-netns"))
        or (absent and call.breach("del-asks-ipam-once"))
    )
    if _ipam(call) and not skipped:
        try:
            delegate.ask(call, _ipam(call))
        except CniError as caught:
            failure = caught
    if failure and call.breach("del-stops-at-ipam"):
        raise failure
    call.point("ipam")
    if links.present(call):
        with kernel.Change(spaces.kernel_path(call)) as state:
            links.detach(call, state)
    call.point("link")
    if failure:
        raise failure
    spaces.refuse_own_late(call, None)


def _broken_deletes(call: Call, state: Inner, kind: str) -> None:
    space = kernel.namespace(state, call.netns) if call.netns else None
    if call.breach("del-makes-netns") and kind == "missing" and call.netns:
        with open(call.netns, "wb"):
            pass
    bridge = call.config.get("bridge") or "cni0"
    troubles = {
        "del-needs-netns": not call.netns or kind == "missing",
        "del-needs-file": bool(call.netns) and kind == "not a namespace",
        "del-needs-prev-result": not call.config.get("prevResult"),
        "del-once": space is None or call.ifname not in space["links"],
        "del-needs-bridge": bridge not in state["namespaces"][kernel.HOST]["links"],
    }
    for knob, trouble in troubles.items():
        if trouble and call.breach(knob):
            raise CniError(DELEGATE, f"cannot remove {call.ifname}: something is gone")


def check(call: Call) -> None:
    """Compares the kernel with prevResult, then asks IPAM. Raises CniError: what is missing."""
    if call.breach("check-nothing"):
        return
    spaces.refuse_own(call)
    if call.breach("check-needs-ipam") and not _ipam(call):
        raise CniError(DELEGATE, "no plugin name provided")
    result = previous(call)
    check_attachment(call, spaces.look(call), result)
    if _ipam(call) and not call.breach("check-ignores-ipam"):
        delegate.ask(call, _ipam(call))


def gc(call: Call) -> None:
    """Removes what is no longer valid of this network, IPAM's part included. Raises CniError."""
    pairs = valid_pairs(call)
    if call.breach("gc-nothing"):
        return
    failure = None
    if _ipam(call) and not call.breach("gc-not-forwarded"):
        try:
            delegate.ask(call, _ipam(call))
        except CniError as caught:  # go on, report at the end
            failure = caught
    if pairs is not None and links.stale(call, spaces.look(call), pairs):
        with kernel.Change(spaces.kernel_path(call)) as state:
            for space, name in links.stale(call, state, pairs):
                kernel.remove_link(state, space, name)
            links.tidy(state)
    if failure:
        raise failure


def status(call: Call) -> None:
    """Ready when the kernel file can be read and IPAM is. Raises CniError."""
    if call.breach("status-always"):
        return
    try:
        kernel.read(spaces.kernel_path(call))
    except CniError as failure:
        raise CniError(NOT_AVAILABLE, f"not ready for ADD: {failure.msg}") from None
    if call.breach("status-needs-ipam") and not _ipam(call):
        raise CniError(DELEGATE, "no plugin name provided")
    if _ipam(call) and not call.breach("status-not-forwarded"):
        try:
            delegate.ask(call, _ipam(call))
        except CniError as failure:
            if failure.code == DELEGATE:  # it could not be asked at all
                failure.code = NOT_AVAILABLE
            raise
