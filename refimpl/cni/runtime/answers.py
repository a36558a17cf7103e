"""What a plugin's end and its stdout mean: a result, an error, or no answer at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from refimpl.cni import contract
from refimpl.cni.contract import VERSIONS, ConversionError, Kind, Result, ShapeError, read_error
from refimpl.cni.contract.addresses import family
from refimpl.cni.execute import Outcome
from refimpl.cni.runtime import gojson, goresult
from refimpl.cni.runtime.choices import Answers
from refimpl.cni.runtime.trouble import BadAnswer, PluginFailed, failed, made_up
from refimpl.documents import DocumentError

__all__ = ["as_result", "in_version", "read_nothing", "read_result"]

# What a runtime can live with: members it does not know, null for absent, untidy routes.
FORGIVEN: Final = frozenset({Kind.FOREIGN, Kind.SPELLING, Kind.NULL, Kind.NORMAL, Kind.CODE})
_RESULT_MEMBERS: Final = frozenset({"interfaces", "ips", "ip4", "ip6", "routes", "dns"})
_FAMILY_SAID: Final = ("0.3.0", "0.3.1", "0.4.0")
_SHOWN = 3


def read_nothing(rules: Answers, plugin: Path, verb: str, outcome: Outcome) -> None:
    """Accepts the end of a verb that has no output; raises PluginFailed or BadAnswer."""
    if rules.reader == "go":
        if not outcome.ok:
            raise made_up(str(plugin), verb, outcome)
        return
    if not outcome.ok:
        raise failed(str(plugin), verb, outcome)
    try:
        document = outcome.document
    except ShapeError:
        return  # noise where nothing should be, after a success
    _refuse_error(plugin, verb, document, outcome)


def read_result(
    rules: Answers, plugin: Path, verb: str, outcome: Outcome, version: str
) -> dict[str, Any]:
    """The result document of an ADD for a network of that version, as the next plugin gets it.

    Raises PluginFailed for an error object, BadAnswer for everything that is no result.
    """
    if rules.reader == "go":
        return _go(plugin, verb, outcome, version)
    if not outcome.ok:
        raise failed(str(plugin), verb, outcome)
    document = _document(plugin, verb, outcome)
    _refuse_error(plugin, verb, document, outcome)
    named = document.get("cniVersion") or version
    document = _completed(document, named)
    if named not in VERSIONS:
        raise _bad(plugin, verb, f"the result is of version {named!r}, which is none", outcome)
    wrong = [each for each in contract.problems(document, named) if each.kind not in FORGIVEN]
    if wrong:
        text = "; ".join(str(each) for each in wrong[:_SHOWN])
        raise _bad(plugin, verb, f"the result is none of version {named}: {text}", outcome)
    if named == version or not rules.convert:
        return document
    try:
        return in_version(document, version)
    except ConversionError as error:
        raise _bad(plugin, verb, str(error), outcome) from error


def in_version(document: Mapping[str, Any], version: str) -> dict[str, Any]:
    """A sound result document in another version; raises ConversionError."""
    named = str(document.get("cniVersion") or VERSIONS[0])
    if named == (version or VERSIONS[0]):
        return dict(document)
    return contract.encode(contract.convert(as_result(document), version))


def as_result(document: Mapping[str, Any]) -> Result:
    """The `Result` of a document that was read here."""
    return contract.decode(dict(document), str(document.get("cniVersion", "")), lenient=True)


def _document(plugin: Path, verb: str, outcome: Outcome) -> dict[str, Any]:
    """stdout as one object."""
    if outcome.stdout_bytes > len(outcome.stdout):
        what = f"stdout has {outcome.stdout_bytes} bytes, no result is that long"
        raise _bad(plugin, verb, what, outcome)
    try:
        document = outcome.document
    except ShapeError as error:
        raise _bad(plugin, verb, f"stdout is {error}", outcome) from error
    if not isinstance(document, dict):
        raise _bad(plugin, verb, "stdout holds no result, which ADD must print", outcome)
    return document


def _completed(document: dict[str, Any], version: str) -> dict[str, Any]:
    """With what plugins leave out although it can only be one thing.

    cniVersion: that of the network, for plugins older than the rule that says so. The family of
    an address: the reference loopback plugin prints none where 0.3.0 to 0.4.0 demand it.
    """
    document = {**document, "cniVersion": version}
    ips = document.get("ips")
    if version in _FAMILY_SAID and isinstance(ips, list):
        document["ips"] = [_with_family(each) for each in ips]
    return document


def _with_family(address: Any) -> Any:
    if not isinstance(address, dict) or "version" in address:
        return address
    number = family(str(address.get("address", "")))
    return {"version": str(number), **address} if number else address


def _refuse_error(plugin: Path, verb: str, document: Any, outcome: Outcome) -> None:
    """An error object is an error, whatever the exit code beside it says."""
    if not isinstance(document, dict) or not {"code", "msg"} <= document.keys():
        return
    if _RESULT_MEMBERS & document.keys():
        return
    try:
        error = read_error(document)
    except ShapeError:
        return
    raise PluginFailed(plugin.name, verb, error, outcome)


def _go(plugin: Path, verb: str, outcome: Outcome, version: str) -> dict[str, Any]:
    """As libcni reads it: any object that fits its types (1.3.1, pkg/invoke/exec.go)."""
    if not outcome.ok:
        raise made_up(str(plugin), verb, outcome)
    try:
        turned = gojson.unmarshal(outcome.stdout, name="stdout")
        if not isinstance(turned, dict | None):
            raise ValueError("stdout is no object")
        named = (turned or {}).get("cniVersion")
        if isinstance(named, str) and named:
            return goresult.decode(gojson.exact(outcome.stdout), named)
        assumed = version or VERSIONS[0]
        return goresult.decode({**(turned or {}), "cniVersion": assumed}, assumed)
    except (DocumentError, ShapeError, ValueError) as error:
        raise _bad(plugin, verb, str(error), outcome) from error


def _bad(plugin: Path, verb: str, what: str, outcome: Outcome) -> BadAnswer:
    return BadAnswer(plugin.name, verb, what, outcome)


def go_in_version(document: gojson.Struct, version: str) -> gojson.Struct:
    """As libcni converts a result that it holds; raises ConversionError."""
    target = version or VERSIONS[0]
    if document["cniVersion"] == target:
        return document
    result = contract.convert(
        as_result(document), target, keep_route_attributes=True, keep_interface_attributes=True
    )
    return goresult.decode(contract.encode(result), target)
