"""Breaches of what a plugin prints and how it ends: all of them change what is printed."""

from __future__ import annotations

from refimpl.cni.format.versions import at_least
from refimpl.cni.plugins.answer import printed
from refimpl.cni.plugins.json import Number, dumps, parse_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from refimpl.cni.plugins.breaches.wrapping import Act, Breaches, Knob
    from refimpl.cni.plugins.call import Call, Executed, Wrapper

    Document = dict[str, Any]

__all__ = ["BREACHES", "print_first"]


def _prints(change: Callable[[Knob, Call, Executed], Executed], *, failed: bool | None) -> Wrapper:
    """Status, stdout and stderr are changed: of failures, of successes (`failed`), of both."""

    def wrapper(fault: Knob, proceed: Act, call: Call, executed: Executed) -> Any:
        if failed in (None, bool(executed[0])):
            executed = change(fault, call, executed)
        return proceed(call, executed)

    return wrapper


def _edits(
    change: Callable[[Knob, Call, Document], Document | None], *, failed: bool | None = None
) -> Wrapper:
    """The document on stdout is changed, in its place or into what is returned."""

    def edit(fault: Knob, call: Call, executed: Executed) -> Executed:
        status, out, err = executed
        try:
            document = parse_object(out)
        except ValueError:
            return executed
        other = change(fault, call, document)
        return status, dumps(document if other is None else other) + b"\n", err

    return _prints(edit, failed=failed)


def _result(change: Callable[[Knob, Call, Document], None]) -> Wrapper:
    """The result of an ADD is changed, or what is printed on CHECK."""
    wrapper = _edits(change, failed=False)

    def only_results(fault: Knob, proceed: Act, call: Call, executed: Executed) -> Any:
        if call.verb in ("ADD", "CHECK"):
            return wrapper(fault, proceed, call, executed)
        return proceed(call, executed)

    return only_results


def _without_interfaces(_fault: Knob, _call: Call, document: Document) -> None:
    document.pop("interfaces", None)
    for ip in document.get("ips") or ():
        ip.pop("interface", None)


def _without_sandbox(_fault: Knob, _call: Call, document: Document) -> None:
    for interface in document.get("interfaces") or ():
        interface.pop("sandbox", None)


def _beyond_interfaces(fault: Knob, _call: Call, document: Document) -> None:
    length = len(document.get("interfaces") or ())
    for ip in document.get("ips") or ():
        ip["interface"] = fault.get("value", length)


def _with_foreign_members(_fault: Knob, call: Call, document: Document) -> None:
    if not at_least(call.version, "0.3.0"):
        document["ips"] = []
    elif at_least(call.version, "1.0.0"):
        for ip in document.get("ips", ()):
            ip["version"] = "6" if ":" in ip["address"] else "4"
    else:
        for interface in document.get("interfaces", ()):
            interface["mtu"] = 1500


def _with_nulls(_fault: Knob, _call: Call, document: Document) -> None:
    for key in ("interfaces", "ips", "routes"):
        document[key] = document.get(key) or None


def _edit(fault: Knob, _call: Call, document: Document) -> None:
    *way, name = str(fault["pointer"]).split("/")[1:]
    place: Any = document
    for part in way:
        place = place[int(part)] if isinstance(place, list) else place.get(part, {})
    key: Any = int(name) if isinstance(place, list) else name
    if "value" in fault:
        place[key] = fault["value"]
    elif isinstance(place, list):
        del place[key]
    else:
        place.pop(key, None)


def _floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    whole = isinstance(value, int) and not isinstance(value, bool)
    return Number(f"{float(value)!r}") if whole else value


def _needless(_fault: Knob, call: Call, executed: Executed) -> Executed:
    status, out, err = executed
    return status, out or dumps({"cniVersion": call.version}) + b"\n", err


def _result_first(fault: Knob, call: Call, executed: Executed) -> Executed:
    status, out, err = executed
    if call.verb == "ADD":
        out = dumps(fault.get("result", {"cniVersion": call.version})) + b"\n" + out
    return status, out, err


def print_first(call: Call, document: Document) -> None:
    """Has the call print a result in front of the error that it ends with."""
    wrapper = BREACHES["result-then-error"][printed]
    call.wrappers.setdefault(printed, []).append(
        lambda proceed, call, executed: wrapper({"result": document}, proceed, call, executed)
    )


BREACHES: Breaches = {
    knob: {printed: wrapper}
    for knob, wrapper in {
        "output-without-need": _prints(_needless, failed=False),
        "no-interfaces": _result(_without_interfaces),
        "no-sandbox": _result(_without_sandbox),
        "index-out-of-range": _result(_beyond_interfaces),
        "foreign-members": _result(_with_foreign_members),
        "null-arrays": _result(_with_nulls),
        "code": _edits(lambda f, _c, document: {**document, "code": f.get("code", 9)}, failed=True),
        "no-msg": _edits(lambda _f, _c, document: {**document, "msg": ""}, failed=True),
        "edit": _edits(_edit),
        "float-numbers": _edits(lambda _f, _c, document: _floats(document)),
        "error-on-stderr": _prints(lambda _f, _c, x: (x[0], b"", x[2] + x[1]), failed=True),
        "result-then-error": _prints(_result_first, failed=True),
        "noise-before": _prints(
            lambda f, _c, x: (x[0], str(f.get("text", "starting up\n")).encode() + x[1], x[2]),
            failed=None,
        ),
        "noise-after": _prints(
            lambda f, _c, x: (x[0], x[1] + str(f.get("text", "done\n")).encode(), x[2]),
            failed=None,
        ),
        "stdout": _prints(
            lambda f, _c, x: (int(f.get("status", x[0])), str(f.get("text", "")).encode(), x[2]),
            failed=None,
        ),
        "success-with-error": _prints(lambda _f, _c, x: (0, *x[1:]), failed=True),
        "failure-with-result": _prints(lambda _f, _c, x: (1, *x[1:]), failed=False),
    }.items()
}
