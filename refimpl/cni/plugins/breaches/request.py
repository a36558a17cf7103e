"""Breaches of how a call ends whatever it asks for, of reading the request, and of VERSION."""

from __future__ import annotations

from refimpl.cni.format.errors import (
    DECODE,
    INCOMPATIBLE_VERSION,
    INTERNAL,
    INVALID_CONFIG,
    INVALID_ENVIRONMENT,
    UNKNOWN_CONTAINER,
    CniError,
)
from refimpl.cni.plugins import answer, request
from refimpl.cni.plugins.breaches.streams import FOREVER_S
from refimpl.cni.plugins.breaches.wrapping import dies, first, gives, skipped, then
from refimpl.cni.plugins.errors import Died
from refimpl.cni.plugins.json import parse_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.breaches.wrapping import Act, Breaches
    from refimpl.cni.plugins.call import Call, Executed, Wrapper

    Document = dict[str, Any]

__all__ = ["BREACHES"]

_TRACEBACK = b"Traceback (most recent call last):\nKeyError: 'prevResult'\n"

_KNOWN = {
    "cniVersion",
    "name",
    "type",
    "ipam",
    "dns",
    "args",
    "runtimeConfig",
    "prevResult",
    "capabilities",
    "bridge",
    "mtu",
    "mac",
    "isGateway",
    "isDefaultGateway",
    "ipMasq",
    "delegate",
    "cni.dev/valid-attachments",
    "cni.dev/attachments",
}


def _hang(call: Call, *_rest: Any) -> None:
    if call.process is not None:
        call.process.pause(call.knobs["hang"].get("seconds", FOREVER_S))


def _signal(call: Call, *_rest: Any) -> None:
    raise Died(-int(call.knobs["signal"].get("number", 11)))


def _exit(_proceed: Act, call: Call, *_rest: Any) -> Executed:
    return int(call.knobs["exit"].get("status", 1)), b"", b""


def _break_off(_proceed: Act, _call: Call, *_rest: Any) -> Executed:
    return 1, b"", _TRACEBACK


def _refuse(_proceed: Act, call: Call, *_rest: Any) -> Executed:
    fault = call.knobs["error"]
    texts = str(fault.get("msg", "told to fail")), str(fault.get("details", ""))
    return answer.refused(call, CniError(fault.get("code", INTERNAL), *texts))


def _key_by_pod(call: Call, *_rest: Any) -> None:
    for part in call.environ.get("CNI_ARGS", "").split(";"):
        if part.startswith("K8S_POD_NAME="):
            call.container_id = part.partition("=")[2]


def _say_what_it_is(proceed: Act, call: Call, failure: CniError) -> Any:
    if failure.code != INVALID_ENVIRONMENT or call.verb:
        return proceed(call, failure)
    call.say("this is a CNI plugin; it is run by a container runtime")
    return 0, b"", b"".join(call.log)


def _fold_case(call: Call) -> None:
    call.verb = call.verb.strip().upper()


def _ask_for_the_id(call: Call) -> None:
    if not call.environ.get("CNI_CONTAINERID"):
        raise CniError(UNKNOWN_CONTAINER, "missing container id")


def _forget_a_verb(call: Call) -> None:
    if call.verb == call.knobs["unknown-verb"].get("unknown"):
        raise CniError(INVALID_ENVIRONMENT, f"CNI_COMMAND is {call.verb!r}, which is no verb")


def _name_the_path(call: Call, names: list[str]) -> list[str]:
    named = "CNI_PATH" in names or call.environ.get("CNI_PATH")
    return names if named else [*names, "CNI_PATH"]


def _take_any_version(proceed: Act, call: Call, versions: tuple[str, ...]) -> None:
    try:
        proceed(call, versions)
    except CniError as failure:
        if failure.code != INCOMPATIBLE_VERSION:
            raise
        call.version = versions[-1]


def _refuse_unknown_keys(call: Call, _checked: None) -> None:
    if set(call.config) - _KNOWN:
        raise CniError(INTERNAL, "json: unknown field")


def _refuse_unknown_args(call: Call, _checked: None) -> None:
    if set(call.config.get("args", {})) - {"cni"}:
        raise CniError(INVALID_CONFIG, "args holds what is not known")


def _refuse_unknown_cni_args(call: Call, _checked: None) -> None:
    pieces = [piece for piece in call.environ.get("CNI_ARGS", "").split(";") if piece]
    for piece in pieces:
        if piece.partition("=")[0] not in ("IP", "IgnoreUnknown"):
            raise CniError(INVALID_ENVIRONMENT, f"CNI_ARGS holds {piece}")


def _read_strictly(call: Call, *_rest: Any) -> None:
    try:
        parse_object(call.stdin)
    except ValueError as error:
        raise CniError(DECODE, f"stdin is no JSON object: {error}") from None


def _answer_in_own(call: Call, document: Document) -> Document:
    versions = call.settings.get("versions") or document["supportedVersions"]
    call.version = versions[-1]
    return {**document, "cniVersion": call.version}


def _lists(versions: Act) -> Wrapper:
    """The reply to VERSION lists what `versions(call, own)` gives."""
    return then(
        lambda call, document: {
            **document,
            "supportedVersions": versions(call, document["supportedVersions"]),
        }
    )


def _lie(call: Call, own: list[str]) -> Any:
    return call.knobs["version-lies"].get("versions", [*own, "1.2.0"])


BREACHES: Breaches = {
    "hang": {answer.answered: first(_hang)},
    "signal": {answer.answered: first(_signal)},
    "exit": {answer.answered: _exit},
    "traceback": {answer.answered: _break_off},
    "error": {answer.answered: _refuse},
    "crash-after": {answer.work: dies(after="result")},
    "key-by-pod": {answer.work: first(_key_by_pod)},
    "silent-without-command": {answer.refused: _say_what_it_is},
    "any-case-verb": {answer.check_verb: first(_fold_case)},
    "id-before-verb": {answer.check_verb: first(_ask_for_the_id)},
    "unknown-verb": {answer.check_verb: first(_forget_a_verb)},
    "no-variable-check": {request.missing: gives(())},
    "one-missing-variable": {request.missing: then(lambda _call, names: names[:1])},
    "needs-cni-path": {request.missing: then(_name_the_path)},
    "no-id-check": {request.check_id: skipped},
    "no-ifname-check": {request.check_ifname: skipped},
    "no-name-check": {request.check_name: skipped},
    "any-version": {request.check_version: _take_any_version},
    "verb-in-any-version": {request.check_since: skipped},
    "strict-unknown": {request.check: then(_refuse_unknown_keys)},
    "strict-args": {request.check: then(_refuse_unknown_args)},
    "strict-cni-args": {request.check: then(_refuse_unknown_cni_args)},
    "version-strict": {answer.version: first(_read_strictly)},
    "version-own": {answer.version: then(_answer_in_own)},
    "version-lies": {answer.version: _lists(_lie)},
    "version-unsorted": {answer.version: _lists(lambda _call, own: [*reversed(own), own[-1]])},
    "version-empty": {answer.version: _lists(lambda *_: [])},
}
