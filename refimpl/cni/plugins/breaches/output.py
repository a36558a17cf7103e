"""Breaches of what a plugin prints and how it ends: all of them change what is printed."""

from __future__ import annotations

from refimpl.cni.format.versions import at_least
from refimpl.cni.plugins.answer import printed
from refimpl.cni.plugins.json import Number, dumps, parse_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.breaches.wrapping import Act, Breaches
    from refimpl.cni.plugins.call import Call, Executed, Wrapper

    Document = dict[str, Any]

__all__ = ["BREACHES", "print_first"]


def _prints(change: Act, *, failed: bool | None = None) -> Wrapper:
    """`change(call, status, stdout, stderr)` of failures, of successes (`failed`), or of both."""

    def wrapper(proceed: Act, call: Call, executed: Executed) -> Any:
        if failed in (None, bool(executed[0])):
            executed = change(call, *executed)
        return proceed(call, executed)

    return wrapper


def _edits(change: Act, *, failed: bool | None = None) -> Wrapper:
    """`change(call, document)` of the object on stdout, in its place or into what is returned."""

    def edit(call: Call, status: int, out: bytes, err: bytes) -> Executed:
        try:
            document = parse_object(out)
        except ValueError:
            return status, out, err
        other = change(call, document)
        return status, dumps(document if other is None else other) + b"\n", err

    return _prints(edit, failed=failed)


def _result(change: Act) -> Wrapper:
    """`change(call, document)` of the result of an ADD, or of what is printed on CHECK."""

    def edit(call: Call, document: Document) -> None:
        if call.verb in ("ADD", "CHECK"):
            change(call, document)

    return _edits(edit, failed=False)


def _without_interfaces(_call: Call, document: Document) -> None:
    document.pop("interfaces", None)
    for ip in document.get("ips") or ():
        ip.pop("interface", None)


def _without_sandbox(_call: Call, document: Document) -> None:
    for interface in document.get("interfaces") or ():
        interface.pop("sandbox", None)


def _beyond_interfaces(call: Call, document: Document) -> None:
    length = len(document.get("interfaces") or ())
    for ip in document.get("ips") or ():
        ip["interface"] = call.knobs["index-out-of-range"].get("value", length)


def _with_foreign_members(call: Call, document: Document) -> None:
    if not at_least(call.version, "0.3.0"):
        document["ips"] = []
    elif at_least(call.version, "1.0.0"):
        for ip in document.get("ips", ()):
            ip["version"] = "6" if ":" in ip["address"] else "4"
    else:
        for interface in document.get("interfaces", ()):
            interface["mtu"] = 1500


def _with_nulls(_call: Call, document: Document) -> None:
    for key in ("interfaces", "ips", "routes"):
        document[key] = document.get(key) or None


def _edit(call: Call, document: Document) -> None:
    fault = call.knobs["edit"]
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


def _with_own_code(call: Call, document: Document) -> None:
    document["code"] = call.knobs["code"].get("code", 9)


def _needless(call: Call, status: int, out: bytes, err: bytes) -> Executed:
    return status, out or dumps({"cniVersion": call.version}) + b"\n", err


def _result_first(call: Call, status: int, out: bytes, err: bytes) -> Executed:
    result = call.knobs["result-then-error"].get("result", {"cniVersion": call.version})
    return status, dumps(result) + b"\n" + out if call.verb == "ADD" else out, err


def print_first(call: Call, document: Document) -> None:
    """Has the call print a result in front of the error that it ends with."""
    call.knobs["result-then-error"] = {"result": document}
    call.wrappers.setdefault(printed, []).append(BREACHES["result-then-error"][printed])


def _noise_before(call: Call, status: int, out: bytes, err: bytes) -> Executed:
    return status, str(call.knobs["noise-before"].get("text", "starting up\n")).encode() + out, err


def _noise_after(call: Call, status: int, out: bytes, err: bytes) -> Executed:
    return status, out + str(call.knobs["noise-after"].get("text", "done\n")).encode(), err


def _stdout(call: Call, status: int, _out: bytes, err: bytes) -> Executed:
    fault = call.knobs["stdout"]
    return int(fault.get("status", status)), str(fault.get("text", "")).encode(), err


BREACHES: Breaches = {
    knob: {printed: wrapper}
    for knob, wrapper in {
        "output-without-need": _prints(_needless, failed=False),
        "no-interfaces": _result(_without_interfaces),
        "no-sandbox": _result(_without_sandbox),
        "index-out-of-range": _result(_beyond_interfaces),
        "foreign-members": _result(_with_foreign_members),
        "null-arrays": _result(_with_nulls),
        "code": _edits(_with_own_code, failed=True),
        "no-msg": _edits(lambda _call, document: {**document, "msg": ""}, failed=True),
        "edit": _edits(_edit),
        "float-numbers": _edits(lambda _call, document: _floats(document)),
        "error-on-stderr": _prints(lambda _, code, out, err: (code, b"", err + out), failed=True),
        "result-then-error": _prints(_result_first, failed=True),
        "noise-before": _prints(_noise_before),
        "noise-after": _prints(_noise_after),
        "stdout": _prints(_stdout),
        "success-with-error": _prints(lambda _, _code, out, err: (0, out, err), failed=True),
        "failure-with-result": _prints(lambda _, _code, out, err: (1, out, err), failed=False),
    }.items()
}
