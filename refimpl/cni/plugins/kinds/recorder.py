"""The recorder: notes every call in the journal and answers what it was told to, or what another
plugin answers. It checks nothing, so that it can stand for any plugin in front of any runtime.

settings["answers"] maps a verb to an answer or to a list of them, one a call and the last for good:
{"result": object}, {"error": object}, {"stdout": text, "stderr": text, "status": n} or
"pass-through". "$CNI_IFNAME", "$CNI_NETNS", "$CNI_CONTAINERID" and "$cniVersion" are filled in.
settings["target"] is a plugin, by path or by its name in CNI_PATH, that answers what "answers"
leaves out; settings["role"] "interface" or "ipam" is what an ADD without either looks like.
"""

from __future__ import annotations

from refimpl.cni.format.errors import CniError
from refimpl.cni.format.versions import LATEST, VERSIONS
from refimpl.cni.plugins import delegate
from refimpl.cni.plugins.faults import counted
from refimpl.cni.plugins.json import dumps, parse_object
from refimpl.cni.plugins.results import shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call, Executed

__all__ = ["answer"]


def answer(call: Call) -> Executed:
    """(status, stdout, stderr) of a call."""
    try:
        call.config = parse_object(call.stdin)
    except ValueError:
        call.config = {}
    version = call.config.get("cniVersion", "0.1.0")
    call.version = version if version in VERSIONS else LATEST
    canned = _canned(call)
    if canned is None and call.settings.get("target"):
        return _passed_on(call, str(call.settings["target"]))
    return _executed(call, canned)


def _passed_on(call: Call, target: str) -> Executed:
    try:
        run = delegate.spawn if "/" in target else (call.execute or delegate.execute)
        return run(target, call.environ, call.stdin)
    except CniError as failure:
        return 1, dumps(failure.to_dict(call.version)) + b"\n", b""


def _canned(call: Call) -> Any:
    """The answer that the settings have for this call, None when they leave it out."""
    canned = (call.settings.get("answers") or {}).get(call.verb)
    if isinstance(canned, list):
        count = counted(call.settings, f"answer {call.verb}")
        canned = canned[min(count, len(canned)) - 1] if canned else None
    return canned


def _executed(call: Call, canned: Any) -> Executed:
    if canned is None or canned == "pass-through":
        document = _default(call)
        return 0, b"" if document is None else dumps(document) + b"\n", b""
    stderr = str(canned.get("stderr", "")).encode()
    if "result" in canned:
        return canned.get("status", 0), dumps(_filled(call, canned["result"])) + b"\n", stderr
    if "error" in canned:
        error = {"cniVersion": call.version, **canned["error"]}
        return canned.get("status", 1), dumps(_filled(call, error)) + b"\n", stderr
    return canned.get("status", 0), str(canned.get("stdout", "")).encode(), stderr


def _default(call: Call) -> dict[str, Any] | None:
    if call.verb == "VERSION":
        versions = call.settings.get("versions") or VERSIONS
        return {"cniVersion": call.version, "supportedVersions": list(versions)}
    if call.verb != "ADD":
        return None
    prev_result = call.config.get("prevResult")
    if isinstance(prev_result, dict):
        return prev_result
    number = counted(call.settings, "address") % 250 + 2
    ip: dict[str, Any] = {"address": f"10.88.7.{number}/24", "gateway": "10.88.7.1"}
    result: dict[str, Any] = {"ips": [ip]}
    if call.settings.get("role") != "ipam":
        result["interfaces"] = [{"name": call.ifname, "sandbox": call.netns}]
        ip["interface"] = 0
    return shape(result, call.version)


def _filled(call: Call, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _filled(call, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(call, item) for item in value]
    if isinstance(value, str) and value.startswith("$CNI_"):
        return call.environ.get(value[1:], "")
    return call.version if value == "$cniVersion" else value
