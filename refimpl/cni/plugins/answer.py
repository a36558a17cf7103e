"""What a plugin answers to one call, by its kind and the verb."""

from __future__ import annotations

from refimpl.cni.format.errors import DECODE, INTERNAL, INVALID_ENVIRONMENT, IO, CniError
from refimpl.cni.format.versions import VERBS, VERSIONS
from refimpl.cni.plugins.errors import Died, ProcessOnly
from refimpl.cni.plugins.json import dumps, parse_object
from refimpl.cni.plugins.request import check
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call, Executed

    Document = dict[str, Any]

__all__ = ["answered"]


@step
def answered(call: Call, kind: str, unreadable: bool) -> Executed:
    """Status, stdout and stderr of the call, whatever happens in it. Raises Died."""
    if kind == "recorder":
        status, out, err = _kind(kind).answer(call)
        return printed(call, (status, out, err + b"".join(call.log)))
    try:
        document = work(call, kind, unreadable)
    except CniError as failure:
        return refused(call, failure)
    except RecursionError:
        return refused(call, CniError(DECODE, "stdin nests too deep"))
    except OSError as error:
        return refused(call, CniError(IO, f"the operating system refused: {error}"))
    except (Died, ProcessOnly):
        raise
    except Exception as error:
        import traceback

        call.say(traceback.format_exc().rstrip())
        return refused(call, CniError(INTERNAL, f"a mistake of the plugin: {error!r}"))
    return printed(call, (0, _line(document), b"".join(call.log)))


@step
def refused(call: Call, failure: CniError) -> Executed:
    """What a call ends with that fails."""
    call.say(f"{call.verb or 'call'} refused: code {failure.code}: {failure.msg}")
    return printed(call, (1, _line(failure.to_dict(call.version)), b"".join(call.log)))


@step
def printed(call: Call, executed: Executed) -> Executed:  # noqa: ARG001
    """Status, stdout and stderr as they leave the plugin."""
    return executed


def _line(document: Document | None) -> bytes:
    return b"" if document is None else dumps(document) + b"\n"


@step
def work(call: Call, kind: str, unreadable: bool) -> Document | None:
    """Does what the verb asks for and returns the document to print. Raises CniError."""
    versions = tuple(call.settings.get("versions") or VERSIONS)
    check_verb(call)
    if call.verb == "VERSION":
        return version(call, versions)
    if unreadable:
        raise CniError(DECODE, "stdin cannot be read; the runtime has to give the request there")
    check(call, versions)
    plugin = _kind(kind)
    if call.verb == "ADD":
        result: Document = plugin.add(call)
        return result
    verbs = {"DEL": plugin.delete, "CHECK": plugin.check, "GC": plugin.gc, "STATUS": plugin.status}
    verbs[call.verb](call)
    return None


def _kind(kind: str) -> Any:
    """The module of a kind: only that one is loaded."""
    if kind == "interface":
        from refimpl.cni.plugins.kinds import interface as plugin
    elif kind == "hostlocal":
        from refimpl.cni.plugins.kinds import hostlocal as plugin  # type: ignore[no-redef]
    elif kind == "chained":
        from refimpl.cni.plugins.kinds import chained as plugin  # type: ignore[no-redef]
    elif kind == "recorder":
        from refimpl.cni.plugins.kinds import recorder as plugin  # type: ignore[no-redef]
    else:
        from refimpl.cni.plugins.kinds import delegating as plugin  # type: ignore[no-redef]
    return plugin


@step
def check_verb(call: Call) -> None:
    """Raises CniError for a verb that is none."""
    if call.verb not in VERBS:
        what = f"CNI_COMMAND is {call.verb!r}" if call.verb else "CNI_COMMAND is not set or empty"
        raise CniError(INVALID_ENVIRONMENT, f"{what}; it has to be one of {', '.join(VERBS)}")


@step
def version(call: Call, versions: tuple[str, ...]) -> Document:
    """CNI 1.1 VERSION: the version asked for comes back; garbage on stdin is no reason to fail."""
    call.version = _named_version(call.stdin) or versions[-1]
    return {"cniVersion": call.version, "supportedVersions": list(versions)}


def _named_version(stdin: bytes) -> str:
    try:
        named = parse_object(stdin).get("cniVersion")
    except ValueError:
        return ""
    return named if isinstance(named, str) else ""
