"""Breaches of the interface plugin."""

from __future__ import annotations

from refimpl.cni.format.errors import CniError
from refimpl.cni.plugins import delegate, kernel, spaces
from refimpl.cni.plugins.breaches.shared import find_out_late, only_read_the_list
from refimpl.cni.plugins.breaches.wrapping import dies, excused, first, gives, skipped, then, where
from refimpl.cni.plugins.errors import DELEGATE
from refimpl.cni.plugins.kinds import attachment, interface, links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.breaches.wrapping import Act, Breaches
    from refimpl.cni.plugins.call import Call, Wrapper

    State = dict[str, Any]
    Inner = dict[str, Any]

__all__ = ["BREACHES"]


def _on_clash(act: Act) -> Wrapper:
    """`act(call)` where an ADD meets the names of its links taken."""

    def wrapper(proceed: Act, call: Call, state: State) -> None:
        try:
            proceed(call, state)
        except CniError:
            act(call)
            raise

    return wrapper


def _free_the_first(call: Call) -> None:
    delegate.undo(call, interface.ipam(call))


def _remove_what_is_there(call: Call) -> None:
    with kernel.Change(spaces.kernel_path(call)) as state:
        kernel.remove_link(state, spaces.inside(call, state) or kernel.new_namespace(), call.ifname)


def _overwrite(call: Call, state: State) -> None:
    space = spaces.inside(call, state)
    if space is not None and call.ifname in space["links"]:
        kernel.remove_link(state, space, call.ifname)


def _on_link(change: Act) -> Wrapper:
    """`change(link)` on the link in the container, once it is made."""

    def wrapper(proceed: Act, call: Call, state: State, given: Inner) -> Inner:
        result: Inner = proceed(call, state, given)
        change(spaces.inside(call, state)["links"][call.ifname])
        return result

    return wrapper


def _in_result(change: Act) -> Wrapper:
    """`change(call, interfaces)` on the entries of the result."""
    return then(lambda call, result: change(call, result["interfaces"]))


def _name_another_mac(_call: Call, entries: list[Inner]) -> None:
    entries[-1]["mac"] = links.mac_of("wrong")


def _name_another_mtu(_call: Call, entries: list[Inner]) -> None:
    entries[-1]["mtu"] += 100


def _name_the_sandbox(call: Call, entries: list[Inner]) -> None:
    for entry in entries:
        entry["sandbox"] = call.netns


def _without_routes(proceed: Act, call: Call, state: State, given: Inner) -> Inner:
    kept = {key: value for key, value in given.items() if key != "routes"}
    result: Inner = proceed(call, state, kept)
    return {**result, "routes": given["routes"]} if "routes" in given else result


def _leave_a_stray(proceed: Act, call: Call, state: State, given: Inner) -> Inner:
    result: Inner = proceed(call, state, given)
    host: Any = kernel.namespace(state, kernel.HOST)
    stray = "stray" + links.host_name(call)[4:]
    mtu = host["links"][links.host_name(call)]["mtu"]
    host["links"][stray] = links.new_link("veth", links.mac_of(stray), mtu)
    return result


def _is_gone(call: Call) -> bool:
    kind = kernel.state_of(spaces.look(call), call.netns)
    return kind in ("missing", "not a namespace")


def _is_detached(call: Call) -> bool:
    space = spaces.inside(call, spaces.look(call))
    return space is None or call.ifname not in space["links"]


def _is_no_namespace(call: Call) -> bool:
    return kernel.state_of(spaces.look(call), call.netns) == "not a namespace"


def _has_no_path(call: Call) -> bool:
    return kernel.state_of(spaces.look(call), call.netns) == "missing"


def _has_no_prev_result(call: Call) -> bool:
    return not call.config.get("prevResult")


def _has_no_bridge(call: Call) -> bool:
    bridge = call.config.get("bridge") or "cni0"
    return bridge not in spaces.look(call)["namespaces"][kernel.HOST]["links"]


def _fail(_proceed: Act, call: Call) -> None:
    raise CniError(DELEGATE, f"cannot remove {call.ifname}: something is gone")


def _make_the_path(call: Call) -> None:
    if call.netns and _has_no_path(call):
        with open(call.netns, "wb"):
            pass


def _stop(_call: Call, failure: CniError | None) -> None:
    if failure:
        raise failure


def _need_ipam(call: Call) -> None:
    if not interface.ipam(call):
        raise CniError(DELEGATE, "no plugin name provided")


def _look_at_the_link_alone(_proceed: Act, call: Call, state: State, _: Inner) -> None:
    link = attachment.present(call, state)[1]
    attachment.check_up(call, link)


def _want_the_born_mac(proceed: Act, call: Call, link: Inner, entry: Inner) -> None:
    proceed(call, link, {**entry, "mac": link.get("born", link["mac"])})


def _passing_over(what: str) -> Wrapper:
    """A check of CHECK is left out when "skip" names it."""
    return where(lambda call: call.knobs["skip"].get("what") == what, skipped)


def _look_without_link(proceed: Act, call: Call, state: State, result: Inner) -> None:
    if call.knobs["skip"].get("what") != "link" or not _is_detached(call):
        proceed(call, state, result)


BREACHES: Breaches = {
    "crash-after": {
        interface.addresses: dies(before="start", after="ipam"),
        interface.attached: dies(after="link"),
        interface.release: dies(after="ipam"),
        interface.detach: dies(after="link"),
    },
    "own-netns-late": {
        interface.add: then(find_out_late),
        interface.delete: then(find_out_late),
    },
    "rollback-frees-first": {interface.check_free: _on_clash(_free_the_first)},
    "drop-link-on-failure": {interface.check_free: _on_clash(_remove_what_is_there)},
    "overwrite-link": {links.check_free: first(_overwrite)},
    "accept-junk-ipam": {interface.usable: excused(dict)},
    "no-address-accepted": {interface.require_address: skipped},
    "down-link": {links.attach: _on_link(lambda link: link.update(up=False))},
    "missing-address": {links.attach: _on_link(lambda link: link["addresses"].clear())},
    "missing-route": {links.attach: _without_routes},
    "stray-link": {links.attach: _leave_a_stray},
    "wrong-mac": {links.attach: _in_result(_name_another_mac)},
    "wrong-mtu": {links.attach: _in_result(_name_another_mtu)},
    "host-sandbox": {links.attach: _in_result(_name_the_sandbox)},
    "del-makes-netns": {interface.release: first(_make_the_path)},
    "del-needs-netns": {interface.release: where(_has_no_path, _fail)},
    "del-needs-file": {interface.release: where(_is_no_namespace, _fail)},
    "del-needs-prev-result": {interface.release: where(_has_no_prev_result, _fail)},
    "del-needs-bridge": {interface.release: where(_has_no_bridge, _fail)},
    "del-once": {interface.release: where(_is_detached, _fail)},
    "del-stops-at-ipam": {interface.release: then(_stop)},
    "del-asks-ipam-once": {interface.release: where(_is_detached, skipped)},
    "del-foreign-link": {links.is_ours: gives(True)},
    "forget-ipam": {interface.release: skipped},
    "forget-ipam-without-netns": {interface.release: where(_is_gone, skipped)},
    "forget-link": {links.remove_ends: skipped},
    "check-nothing": {interface.check: skipped},
    "check-needs-ipam": {interface.check: first(_need_ipam)},
    "check-ignores-ipam": {interface.check_ipam: skipped},
    "check-ignores-prev-result": {attachment.check_attachment: _look_at_the_link_alone},
    "check-own-mac": {attachment.check_entry: _want_the_born_mac},
    "skip": {
        attachment.check_attachment: _look_without_link,
        attachment.check_up: _passing_over("up"),
        attachment.check_entry: _passing_over("mac"),
        attachment.check_addresses: _passing_over("address"),
        attachment.check_routes: _passing_over("route"),
    },
    "gc-nothing": {interface.gc: only_read_the_list},
    "gc-not-forwarded": {interface.collect_addresses: skipped},
    "status-always": {interface.status: skipped},
    "status-needs-ipam": {interface.status: first(_need_ipam)},
    "status-not-forwarded": {interface.status_of_ipam: skipped},
}
