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
from refimpl.cni.format.versions import VERSIONS
from refimpl.cni.plugins import delegate
from refimpl.cni.plugins.faults import counted
from refimpl.cni.plugins.json import dumps, parse_object
from refimpl.cni.plugins.results import shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.request import Call, Executed

__all__ = ["answer"]


def answer(call: Call) -> Executed:
    """(status, stdout, stderr) of a call."""
    try:
        call.config = parse_object(call.stdin)
    except ValueError:
        call.config = {}
    version = call.config.get("cniVersion", "0.1.0")
    call.version = version if version in VERSIONS else VERSIONS[-1]
    told = _told(call)
    if told is None and call.settings.get("target"):
        return _passed_on(call, str(call.settings["target"]))
    return _canned(call, told)


def _passed_on(call: Call, target: str) -> Executed:
    try:
        run = delegate.spawn if "/" in target else call.execute
        return run(target, call.environ, call.stdin)
    except CniError as failure:
        return 1, dumps(failure.to_dict(call.version)) + b"\n", b""


def _told(call: Call) -> Any:
    told = (call.settings.get("answers") or {}).get(call.verb)
    if isinstance(told, list):
        count = counted(call.settings, f"answer {call.verb}")
        told = told[min(count, len(told)) - 1] if told else None
    return told


def _canned(call: Call, told: Any) -> Executed:
    if told is None or told == "pass-through":
        made = _default(call)
        return 0, b"" if made is None else dumps(made) + b"\n", b""
    stderr = str(told.get("stderr", "")).encode()
    if "result" in told:
        return told.get("status", 0), dumps(_filled(call, told["result"])) + b"\n", stderr
    if "error" in told:
        made = {"cniVersion": call.version, **told["error"]}
        return told.get("status", 1), dumps(_filled(call, made)) + b"\n", stderr
    return told.get("status", 0), str(told.get("stdout", "")).encode(), stderr


def _default(call: Call) -> dict[str, Any] | None:
    if call.verb == "VERSION":
        versions = call.settings.get("versions") or VERSIONS
        return {"cniVersion": call.version, "supportedVersions": list(versions)}
    if call.verb != "ADD":
        return None
    given = call.config.get("prevResult")
    if isinstance(given, dict):
        return given
    number = counted(call.settings, "address") % 250 + 2
    ip: dict[str, Any] = {"address": f"10.88.7.{number}/24", "gateway": "10.88.7.1"}
    made: dict[str, Any] = {"ips": [ip]}
    if call.settings.get("role") != "ipam":
        made["interfaces"] = [{"name": call.ifname, "sandbox": call.netns}]
        ip["interface"] = 0
    return shape(made, call.version)


def _filled(call: Call, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _filled(call, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(call, item) for item in value]
    if isinstance(value, str) and value.startswith("$CNI_"):
        return call.environ.get(value[1:], "")
    return call.version if value == "$cniVersion" else value
