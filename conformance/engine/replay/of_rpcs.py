"""gRPC calls on record as a script plays them, with the part of the schema that they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass

from conformance.engine.events import CaseDone
from conformance.engine.interface import COMMAND, load
from conformance.engine.ledger.calls import Undo
from conformance.engine.options import BadOption
from conformance.engine.targets.resolve import ResolvedTarget
from refimpl.wire.secrets import MASK

__all__ = ["Table", "record"]

Json = Any

_SCALARS = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
}


def record(
    done: CaseDone, calls: Sequence[Mapping[str, Any]], resolved: ResolvedTarget
) -> dict[str, Any]:
    """The unary calls, what undoes them, and their messages as a table; raises BadOption."""
    load(resolved.interface.opener)  # which brings the schema in
    methods = {call["method"]: _method(call["method"]) for call in calls}
    unary = [call for call in calls if not _streams(methods[call["method"]])]
    if not unary:
        raise BadOption(f"{done.id}: it is about a stream; replay it without --script")
    table = Table()
    secrets: dict[str, str] = {}
    every = [_call(done, call, methods[call["method"]], table, secrets) for call in unary]
    started = "endpoint" in resolved.interface.targets[COMMAND].placeholders
    return {
        "command": list(resolved.command) if started else [],
        "peers": list(dict.fromkeys(call["peer"] for call in unary)),
        "secrets": secrets,
        "calls": every,
        "undo": [
            _call(done, call, _method(call["method"]), table, secrets)
            for call in _undoing(unary, resolved.interface.undo)
        ],
        "schema": table.schema,
        "enums": table.enums,
    }


def _method(name: str) -> MethodDescriptor | None:
    service, _, rpc = name.removeprefix("/").partition("/")
    try:
        return Default().FindServiceByName(service).methods_by_name.get(rpc)
    except KeyError:
        return None


def _streams(method: MethodDescriptor | None) -> bool:
    return bool(method and (method.server_streaming or method.client_streaming))


def _call(
    done: CaseDone,
    call: Mapping[str, Any],
    method: MethodDescriptor | None,
    table: Table,
    secrets: dict[str, str],
) -> dict[str, Any]:
    request = call["requests"][0] if call["requests"] else {}
    raw = method is None or (request.keys() == {"bytes"} and "bytes" not in _fields(method))
    if raw and request.get("bytes") == MASK:
        raise BadOption(f"{done.id}: a request that may hold secrets is not on record; replay it")
    return {
        "name": call["method"].rpartition("/")[2],
        "method": call["method"],
        "peer": call["peer"],
        "takes": table.add(method.input_type) if method else "",
        "gives": table.add(method.output_type) if method else "",
        "raw": raw,
        "request": request if raw else _unmasked(table.known(method, "input", request), secrets),
        "code": call["code"],
        "reply": table.known(method, "output", call["replies"][0]) if call["replies"] else None,
    }


def _fields(method: MethodDescriptor) -> Iterable[str]:
    return method.input_type.fields_by_name


def _unmasked(value: Json, secrets: dict[str, str], key: str = "") -> Json:
    """With a text of its own for each secret, which the script asks for."""
    if isinstance(value, dict):
        return {name: _unmasked(each, secrets, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_unmasked(each, secrets, key) for each in value]
    if value != MASK:
        return value
    secrets[f"***{key}***"] = f"SECRET_{key}"
    return f"***{key}***"


class Table:
    """Messages and enums by full name, as far as calls need them; well-known types are left out,
    which no request of ours has."""

    def __init__(self) -> None:
        self.schema: dict[str, dict[str, tuple[int, str, str]]] = {}
        self.enums: dict[str, dict[str, int]] = {}

    def add(self, message: Descriptor) -> str:
        """Takes a message and all in it; its name."""
        name = message.full_name
        if name not in self.schema:
            fields = self.schema[name] = {}
            for field in message.fields:
                if not _well_known(field):
                    fields[field.name] = (field.number, self._kind(field), _label(field))
        return name

    def _kind(self, field: FieldDescriptor) -> str:
        if field.message_type:
            return self.add(field.message_type)
        if field.enum_type:
            name = field.enum_type.full_name
            self.enums[name] = {value.name: value.number for value in field.enum_type.values}
            return name
        return _SCALARS.get(field.type, "int64")

    def known(self, method: MethodDescriptor | None, side: str, value: Json) -> Json:
        """A message without what the table leaves out."""
        if method is None:
            return {}
        return self._known(method.input_type if side == "input" else method.output_type, value)

    def _known(self, message: Descriptor, value: Mapping[str, Json]) -> dict[str, Json]:
        fields = {name: message.fields_by_name.get(name) for name in value}
        return {
            name: self._inside(field, value[name])
            for name, field in fields.items()
            if field is not None and not _well_known(field)
        }

    def _inside(self, field: FieldDescriptor, value: Json) -> Json:
        if field.message_type is None or _label(field) == "map":
            return value
        if isinstance(value, list):
            return [self._known(field.message_type, each) for each in value]
        return self._known(field.message_type, value)


def _well_known(field: FieldDescriptor) -> bool:
    return bool(field.message_type and field.message_type.full_name.startswith("google.protobuf."))


def _label(field: FieldDescriptor) -> str:
    if field.message_type and field.message_type.GetOptions().map_entry:
        return "map"
    return "many" if field.is_repeated else "one"


def _undoing(calls: Sequence[Mapping[str, Any]], table: str) -> list[dict[str, Any]]:
    """The calls that undo those of an interface which can be undone, newest first."""
    ways: Mapping[str, Undo] = load(table) if table else {}
    inverse = []
    for call in calls:
        way = ways.get(call["method"])
        if way and call["code"] == "OK":
            sent, reply = (_message(call, kind) for kind in ("requests", "replies"))
            request = json_format.MessageToDict(
                way.build(sent, reply), preserving_proto_field_name=True
            )
            inverse.append({**call, "method": way.inverse, "requests": [request], "replies": []})
    return inverse[::-1]


def _message(call: Mapping[str, Any], kind: str) -> Any:
    method = _method(call["method"])
    assert method is not None
    type_ = GetMessageClass(method.input_type if kind == "requests" else method.output_type)
    value = call[kind][0] if call[kind] else {}
    return json_format.ParseDict(value, type_(), ignore_unknown_fields=True)
