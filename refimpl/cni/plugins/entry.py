"""One call of a fake plugin from environment and stdin to status, stdout and stderr.

`main` is the plugin as a function; the executable that `install` makes runs the same code.
"""

from __future__ import annotations

from refimpl.cni.format.errors import (
    DECODE,
    INTERNAL,
    INVALID_CONFIG,
    INVALID_ENVIRONMENT,
    IO,
    CniError,
)
from refimpl.cni.format.versions import VERBS, VERSIONS
from refimpl.cni.plugins import answer, faults, journal
from refimpl.cni.plugins.delegate import execute
from refimpl.cni.plugins.errors import Died, ProcessOnly
from refimpl.cni.plugins.json import parse_object
from refimpl.cni.plugins.request import Call, asked_version, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from refimpl.cni.plugins.process import Process
    from refimpl.cni.plugins.request import ExecDelegate, Executed

__all__ = ["KINDS", "main"]

KINDS = ("interface", "hostlocal", "chained", "delegating", "recorder")

NEEDS_PROCESS = ("hang", "slow-stdin", "close-stdin", "hold-stdout")


def main(
    kind: str,
    environ: Mapping[str, str],
    stdin: bytes | None,
    settings: dict[str, Any],
    *,
    exec_delegate: ExecDelegate | None = None,
    process: Process | None = None,
    knobs: dict[str, dict[str, Any]] | None = None,
) -> Executed:
    """Answers one call as the plugin of that kind: (exit status, stdout, stderr); a negative status
    stands for a signal. `stdin` is None where it could not be read.

    `settings` are those of `install`; counts of faults are kept in them. `exec_delegate(name,
    environ, stdin)` runs delegates instead of CNI_PATH. Raises ProcessOnly for a fault that takes
    a process (hang, slow-stdin, close-stdin, hold-stdout).
    """
    if kind not in KINDS:
        raise ValueError(f"there is no plugin of kind {kind!r}; take one of {', '.join(KINDS)}")
    chosen = faults.chosen(settings, environ) if knobs is None else knobs
    if process is None and (asked := [knob for knob in NEEDS_PROCESS if knob in chosen]):
        raise ProcessOnly(f"{asked[0]} takes a process of its own: install the plugin")
    record = journal.begin({**settings, "kind": kind}, environ, stdin or b"")
    call = Call(environ, stdin or b"", settings, dict(chosen), exec_delegate or execute)
    call.process = process
    try:
        found = _answered(kind, call, stdin is None)
    except Died as died:
        found = (died.status, b"", b"".join(call.log))
    journal.end(settings, record, found, sorted(chosen))
    return found


def _answered(kind: str, call: Call, unreadable: bool) -> Executed:
    call.version = asked_version(call.stdin) or VERSIONS[-1]
    if (fault := call.breach("hang")) and call.process is not None:
        call.process.pause(fault.get("seconds", 86_400.0))
    if fault := call.breach("signal"):
        raise Died(-int(fault.get("number", 11)))
    if fault := call.breach("exit"):
        return int(fault.get("status", 1)), b"", b""
    if call.breach("traceback"):
        return 1, b"", b"Traceback (most recent call last):\nKeyError: 'prevResult'\n"
    if kind == "recorder" and not call.breach("error"):
        return answer.streams(call, _recorded(call))
    try:
        document = _work(kind, call, unreadable)
        call.point("result")
    except CniError as failure:
        return _refused(call, failure)
    except RecursionError:
        return _refused(call, CniError(DECODE, "stdin nests too deep"))
    except OSError as error:
        return _refused(call, CniError(IO, f"the operating system refused: {error}"))
    except (Died, ProcessOnly):
        raise
    except Exception as error:
        import traceback

        call.say(traceback.format_exc().rstrip())
        return _refused(call, CniError(INTERNAL, f"a mistake of the plugin: {error!r}"))
    return answer.render(call, document, failed=False)


def _recorded(call: Call) -> Executed:
    """The recorder's answer."""
    from refimpl.cni.plugins import recorder

    return recorder.answer(call)


def _refused(call: Call, failure: CniError) -> Executed:
    if (
        failure.code == INVALID_ENVIRONMENT
        and call.breach("silent-without-command")
        and not call.verb
    ):
        call.say("this is a CNI plugin; it is run by a container runtime")
        return 0, b"", b"".join(call.log)
    call.say(f"{call.verb or 'call'} refused: code {failure.code}: {failure.msg}")
    return answer.render(call, failure.to_dict(call.version), failed=True)


def _work(kind: str, call: Call, unreadable: bool) -> dict[str, Any] | None:
    _early_faults(call)
    versions = tuple(call.settings.get("versions") or VERSIONS)
    _check_verb(call)
    if call.verb == "VERSION":
        return _version(call, versions)
    if unreadable:
        raise CniError(DECODE, "stdin cannot be read; the runtime has to give the request there")
    check(call, versions)
    _late_faults(call)
    plugin = _kind(kind)
    if call.verb == "ADD":
        result: dict[str, Any] = plugin.add(call)
        return result
    verbs = {"DEL": plugin.delete, "CHECK": plugin.check, "GC": plugin.gc, "STATUS": plugin.status}
    verbs[call.verb](call)
    return None


def _kind(kind: str) -> Any:
    if kind == "interface":
        from refimpl.cni.plugins import interface as plugin
    elif kind == "hostlocal":
        from refimpl.cni.plugins import hostlocal as plugin  # type: ignore[no-redef]
    elif kind == "chained":
        from refimpl.cni.plugins import chained as plugin  # type: ignore[no-redef]
    else:
        from refimpl.cni.plugins import delegating as plugin  # type: ignore[no-redef]
    return plugin


def _check_verb(call: Call) -> None:
    if call.breach("any-case-verb"):
        call.verb = call.verb.strip().upper()
    if call.breach("id-before-verb") and not call.environ.get("CNI_CONTAINERID"):
        raise CniError(3, "missing container id")
    unknown = (call.breach("unknown-verb") or {}).get("unknown")
    if call.verb not in VERBS or call.verb == unknown:
        what = f"CNI_COMMAND is {call.verb!r}" if call.verb else "CNI_COMMAND is not set or empty"
        raise CniError(INVALID_ENVIRONMENT, f"{what}; it has to be one of {', '.join(VERBS)}")


def _version(call: Call, versions: tuple[str, ...]) -> dict[str, Any]:
    """CNI 1.1 VERSION: the version asked for comes back; garbage on stdin is no reason to fail."""
    asked = ""
    try:
        asked = parse_object(call.stdin).get("cniVersion", "")
    except ValueError as error:
        if call.breach("version-strict"):
            raise CniError(DECODE, f"stdin is no JSON object: {error}") from None
    if not isinstance(asked, str) or not asked or call.breach("version-own"):
        asked = versions[-1]
    call.version = asked
    shown = list(versions)
    if fault := call.breach("version-lies"):
        shown = fault.get("versions", [*versions, "1.2.0"])
    if call.breach("version-unsorted"):
        shown = [*reversed(versions), versions[-1]]
    if call.breach("version-empty"):
        shown = []
    return {"cniVersion": asked, "supportedVersions": shown}


def _early_faults(call: Call) -> None:
    if fault := call.breach("error"):
        raise CniError(
            fault.get("code", 999), fault.get("msg", "told to fail"), fault.get("details", "")
        )


def _late_faults(call: Call) -> None:
    known = {
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
    unknown = sorted(set(call.config) - known)
    if unknown and call.breach("strict-unknown"):
        raise CniError(INTERNAL, "json: unknown field")
    if set(call.config.get("args", {})) - {"cni"} and call.breach("strict-args"):
        raise CniError(INVALID_CONFIG, "args holds what is not known")
    pieces = [each for each in call.environ.get("CNI_ARGS", "").split(";") if each]
    foreign = [each for each in pieces if each.partition("=")[0] not in ("IP", "IgnoreUnknown")]
    if foreign and call.breach("strict-cni-args"):
        raise CniError(INVALID_ENVIRONMENT, f"CNI_ARGS holds {foreign[0]}")
