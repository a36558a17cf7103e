"""From what a plugin did to the bytes on its streams, and what faults make of them."""

from __future__ import annotations

from refimpl.cni.format.versions import at_least
from refimpl.cni.plugins.json import Number, dumps, parse_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.request import Call, Executed

    Document = dict[str, Any]

__all__ = ["render", "streams"]


def render(call: Call, document: Document | None, failed: bool) -> Executed:
    """(status, stdout, stderr) of a call that ends with a result, an error object or nothing."""
    if document is None and call.breach("output-without-need"):
        document = {"cniVersion": call.version}
    if document is not None:
        document = _edited(call, document, failed)
    out = b"" if document is None else dumps(document) + b"\n"
    answer = (int(failed), out, b"".join(call.log))
    return _streams(call, answer, failed)


def streams(call: Call, answer: Executed) -> Executed:
    """What faults make of an answer whose stdout is ready: the document is edited where it is a
    JSON object."""
    status, out, err = answer
    try:
        document: Document | None = parse_object(out)
    except ValueError:
        document = None
    if document is not None and call.knobs:
        out = dumps(_edited(call, document, bool(status))) + b"\n"
    return _streams(call, (status, out, err + b"".join(call.log)), bool(status))


def _edited(call: Call, document: Document, failed: bool) -> Document:
    if call.verb in ("ADD", "CHECK") and not failed:
        _edit_result(call, document)
    if failed and (fault := call.breach("code")):
        document["code"] = fault.get("code", 9)
    if failed and call.breach("no-msg"):
        document["msg"] = ""
    if fault := call.breach("edit"):
        _edit(document, fault)
    return _floats(document) if call.breach("float-numbers") else document


def _edit_result(call: Call, document: Document) -> None:
    if call.breach("no-interfaces"):
        document.pop("interfaces", None)
        for ip in document.get("ips") or ():
            ip.pop("interface", None)
    if call.breach("no-sandbox"):
        for each in document.get("interfaces") or ():
            each.pop("sandbox", None)
    if fault := call.breach("index-out-of-range"):
        length = len(document.get("interfaces") or ())
        for ip in document.get("ips") or ():
            ip["interface"] = fault.get("value", length)
    if call.breach("foreign-members"):
        _add_foreign(document, call.version)
    if call.breach("null-arrays"):
        for key in ("interfaces", "ips", "routes"):
            document[key] = document.get(key) or None


def _add_foreign(document: Document, version: str) -> None:
    if not at_least(version, "0.3.0"):
        document["ips"] = []
    elif at_least(version, "1.0.0"):
        for ip in document.get("ips", ()):
            ip["version"] = "6" if ":" in ip["address"] else "4"
    else:
        for each in document.get("interfaces", ()):
            each["mtu"] = 1500


def _edit(document: Document, fault: Document) -> None:
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


def _streams(call: Call, answer: Executed, failed: bool) -> Executed:
    status, out, err = answer
    if failed and call.breach("error-on-stderr"):
        out, err = b"", err + out
    if failed and call.verb == "ADD" and (fault := call.breach("result-then-error")) is not None:
        out = dumps(fault.get("result", {"cniVersion": call.version})) + b"\n" + out
    if fault := call.breach("noise-before"):
        out = str(fault.get("text", "starting up\n")).encode() + out
    if fault := call.breach("noise-after"):
        out += str(fault.get("text", "done\n")).encode()
    if fault := call.breach("stdout"):
        out, status = str(fault.get("text", "")).encode(), int(fault.get("status", status))
    if failed and call.breach("success-with-error"):
        status = 0
    if not failed and call.breach("failure-with-result"):
        status = 1
    return status, out, err
