"""Our schemas against `fixtures/facts`: what every upstream interface declares, as plain data.

Both sides are flattened to one entry a declaration, such as `field csi.v1.Volume.volume_id` with
`2 string`, so that a difference names exactly what is missing, extra or other than it should be.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.message import Message

from refimpl.cri.api import cri_pb2
from refimpl.csi.api import csi_pb2

ROOT = Path(__file__).resolve().parents[2]
FACTS = ROOT / "fixtures" / "facts"
CSI = "refimpl.csi.api.csi"
DRA = "refimpl.dra.api.dra_v1"
SCHEMAS = {
    "refimpl.cri.api.cri": ["cri-v1"],
    CSI: ["csi-v1", "csi-v1.12"],
    "refimpl.deviceplugin.api.deviceplugin": ["deviceplugin-v1beta1"],
    "refimpl.deviceplugin.api.pods_v1alpha1": ["pods-v1alpha1"],
    "refimpl.deviceplugin.api.podresources_v1": ["podresources-v1"],
    "refimpl.deviceplugin.api.podresources_v1alpha1": ["podresources-v1alpha1"],
    DRA: ["dra-v1"],
    "refimpl.dra.api.dra_v1beta1": ["dra-v1beta1"],
    "refimpl.dra.api.health_v1": ["dra-health-v1"],
    "refimpl.dra.api.health_v1alpha1": ["dra-health-v1alpha1"],
    "refimpl.registration.api.registration": ["pluginregistration-v1"],
}
# Options that the facts leave out: the mark of a secret in CRI.
UNRECORDED = {"debug_redact"}

Entry = tuple[str, str]
Declarations = dict[str, str]
Facts = dict[str, Any]
Change = Callable[[Facts], object]


def entry(kind: str, name: str, *words: object, marks: Iterable[str] = ()) -> Entry:
    """One declaration; marks (alpha, csi_secret, optional, oneof x ...) in a fixed order."""
    return f"{kind} {name}", " ".join([*map(str, words), *sorted(marks)])


# ---- What the facts promise


def read(name: str) -> Facts:
    """The facts of one interface, as stored."""
    facts: Facts = json.loads((FACTS / f"{name}.json").read_text("utf-8"))
    return facts


def promised(facts: Facts) -> Declarations:
    """Every declaration of `facts`, flat."""
    return dict(_of_facts(facts))


def _all_read(facts: Facts, *keys: str) -> None:
    # A kind of fact that this test does not know would otherwise pass unchecked.
    assert set(facts) <= set(keys), f"facts that nobody reads: {sorted(set(facts) - set(keys))}"


def _of_facts(facts: Facts) -> Iterator[Entry]:
    rules = "note", "syntax", "package", "imports", "extensions", "services", "enums", "messages"
    _all_read(facts, *rules)
    package = facts["package"]
    yield entry("syntax of", package, facts["syntax"])
    for number, name, extended, kind in facts.get("extensions", []):
        yield entry("extension", f"{package}.{name}", number, kind, "of", extended)
    for name, service in facts["services"].items():
        yield from _of_facts_service(f"{package}.{name}", service)
    yield from _of_facts_enums(package, facts["enums"])
    for name, message in facts["messages"].items():
        yield from _of_facts_message(f"{package}.{name}", message)


def _of_facts_service(name: str, service: Facts) -> Iterator[Entry]:
    _all_read(service, "options", "methods")
    yield entry("service", name, marks=service.get("options", []))
    for method, rpc in service["methods"].items():
        _all_read(rpc, "in", "out", "options", "server_streaming", "client_streaming")
        streams = [key for key in ("server_streaming", "client_streaming") if rpc.get(key)]
        marks = [*rpc.get("options", []), *streams]
        yield entry("rpc", f"{name}.{method}", rpc["in"], "->", rpc["out"], marks=marks)


def _of_facts_message(name: str, message: Facts) -> Iterator[Entry]:
    _all_read(message, "fields", "options", "reserved_numbers", "enums", "messages")
    yield entry("message", name, marks=message.get("options", []))
    for number, field, kind, *marks in message["fields"]:
        words = [word for mark in marks for word in mark.split(", ")]
        yield entry("field", f"{name}.{field}", number, kind, marks=words)
    for first, last in message.get("reserved_numbers", []):
        yield entry("reserved", f"{name} {first}-{last}")
    yield from _of_facts_enums(name, message.get("enums", {}))
    for nested, inner in message.get("messages", {}).items():
        yield from _of_facts_message(f"{name}.{nested}", inner)


def _of_facts_enums(scope: str, enums: Facts) -> Iterator[Entry]:
    for name, values in enums.items():
        yield entry("enum", f"{scope}.{name}")
        for value, fact in values.items():
            number, *marks = fact if isinstance(fact, list) else [fact]
            yield entry("value", f"{scope}.{name}.{value}", number, marks=marks)


def expected(name: str, change: Change = lambda _: None) -> Declarations:
    """What a schema of ours must declare; `change` alters each of its facts before that."""
    versions = [read(facts) for facts in SCHEMAS[name]]
    for facts in versions:
        change(facts)
    newest, *older = map(promised, versions)
    for declarations in older:
        newest = union(newest, declarations)
    return newest


def union(newer: Declarations, older: Declarations) -> Declarations:
    """What either of two versions declares; neither may contradict the other.

    A number that the newer one has reserved is in use by the older: no reservation is kept.
    """
    torn = sorted(name for name in newer.keys() & older.keys() if newer[name] != older[name])
    assert not torn, f"one schema cannot serve both versions: {torn}"
    return {k: v for k, v in (older | newer).items() if not k.startswith("reserved ")}


# ---- What our schemas declare


def schema(name: str) -> FileDescriptorProto:
    """The descriptor of one of our schemas, as a message that a test may change."""
    file = FileDescriptorProto()
    importlib.import_module(f"{name}_pb2").DESCRIPTOR.CopyToProto(file)
    return file


def declared(file: FileDescriptorProto) -> Declarations:
    """Every declaration of a schema, flat."""
    return dict(_of_schema(file))


def _of_schema(file: FileDescriptorProto) -> Iterator[Entry]:
    package = file.package
    yield entry("syntax of", package, file.syntax)
    for field in file.extension:
        kind = _type(field, package, {})
        extended = field.extendee.removeprefix(".")
        yield entry("extension", f"{package}.{field.name}", field.number, kind, "of", extended)
    for service in file.service:
        yield from _of_schema_service(f"{package}.{service.name}", service, package)
    yield from _of_schema_enums(package, file.enum_type)
    for message in file.message_type:
        yield from _of_schema_message(f"{package}.{message.name}", message, package)


def _of_schema_service(name: str, service: ServiceDescriptorProto, package: str) -> Iterator[Entry]:
    yield entry("service", name, marks=_marks(service.options))
    for rpc in service.method:
        streams = {key for key in ("server_streaming", "client_streaming") if getattr(rpc, key)}
        kinds = _local(rpc.input_type, package), "->", _local(rpc.output_type, package)
        yield entry("rpc", f"{name}.{rpc.name}", *kinds, marks=_marks(rpc.options) | streams)


def _of_schema_message(name: str, message: DescriptorProto, package: str) -> Iterator[Entry]:
    yield entry("message", name, marks=_marks(message.options))
    maps = {f".{name}.{n.name}": n for n in message.nested_type if n.options.map_entry}
    for field in message.field:
        marks = _marks(field.options)
        if field.proto3_optional:
            marks.add("optional")
        elif field.HasField("oneof_index"):
            marks.add(f"oneof {message.oneof_decl[field.oneof_index].name}")
        kind = _type(field, package, maps)
        yield entry("field", f"{name}.{field.name}", field.number, kind, marks=marks)
    for reserved in message.reserved_range:
        yield entry("reserved", f"{name} {reserved.start}-{reserved.end - 1}")
    yield from _of_schema_enums(name, message.enum_type)
    for nested in message.nested_type:
        if not nested.options.map_entry:
            yield from _of_schema_message(f"{name}.{nested.name}", nested, package)


def _of_schema_enums(scope: str, enums: Iterable[EnumDescriptorProto]) -> Iterator[Entry]:
    for enum in enums:
        yield entry("enum", f"{scope}.{enum.name}", marks=_marks(enum.options))
        for value in enum.value:
            name = f"{scope}.{enum.name}.{value.name}"
            yield entry("value", name, value.number, marks=_marks(value.options))


def _type(field: FieldDescriptorProto, package: str, maps: dict[str, DescriptorProto]) -> str:
    if field.type_name in maps:
        key, value = (_type(part, package, {}) for part in maps[field.type_name].field)
        return f"map<{key}, {value}>"
    scalar = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    repeated = "repeated " if field.label == FieldDescriptorProto.LABEL_REPEATED else ""
    return repeated + (_local(field.type_name, package) or scalar)


def _local(type_name: str, package: str) -> str:
    return type_name.removeprefix(f".{package}.").removeprefix(".")


def _marks(options: Message) -> set[str]:
    names = {field.name for field, value in options.ListFields() if value is True} - UNRECORDED
    # alpha_field, alpha_enum_value and so on: the facts only say alpha.
    return {"alpha" if name.startswith("alpha_") else name for name in names}


def differences(facts: Declarations, described: Declarations) -> list[str]:
    """One line a declaration that only one side has, or that the sides describe differently."""
    lines = [f"missing: {name} ({facts[name]})" for name in facts.keys() - described.keys()]
    lines += [
        f"not in the facts: {name} ({described[name]})" for name in described.keys() - facts.keys()
    ]
    for name in facts.keys() & described.keys():
        if facts[name] != described[name]:
            lines.append(f"differs: {name} is ({described[name]}), the facts say ({facts[name]})")
    return sorted(lines)


# ---- The tests


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_declares_what_the_facts_promise_and_nothing_else(name: str) -> None:
    """A number or type of our own is a peer that reads garbage; a field too few, one never sent."""
    assert not differences(expected(name), declared(schema(name)))


def test_every_schema_is_compared_and_every_fact_is_used() -> None:
    """A schema outside the table, or facts beside it, would look tested without being so."""
    paths = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("refimpl/*/api/*.proto")}
    assert paths == {f"{name.replace('.', '/')}.proto" for name in SCHEMAS}
    used = {name for names in SCHEMAS.values() for name in names}
    # Those of resource.k8s.io describe objects of the API server, not a schema of ours.
    stored = {path.stem for path in FACTS.glob("*.json") if not path.stem.startswith("resource.")}
    assert stored == used


def test_both_versions_of_csi_fit_into_one_schema_in_full() -> None:
    """Drivers of 1.12 and 1.13 live side by side, and nothing on the wire names the version."""
    ours = declared(schema(CSI)).items()
    left_out = {
        name for version in SCHEMAS[CSI] for name, _ in promised(read(version)).items() - ours
    }
    # The number of the removed volume_condition: 1.13 forbids what 1.12 needs.
    assert left_out == {
        "reserved csi.v1.ListVolumesResponse.VolumeStatus 2-2",
        "reserved csi.v1.ControllerGetVolumeResponse.VolumeStatus 2-2",
        "reserved csi.v1.NodeGetVolumeStatsResponse 2-2",
    }


def _fields(facts: Facts, message: str) -> list[list[Any]]:
    fields: list[list[Any]] = facts["messages"][message]["fields"]
    return fields


def _modes(facts: Facts) -> Facts:
    capability: Facts = facts["messages"]["VolumeCapability"]["messages"]
    modes: Facts = capability["AccessMode"]["enums"]["Mode"]
    return modes


def _methods(facts: Facts) -> Facts:
    methods: Facts = facts["services"]["SnapshotMetadata"]["methods"]
    return methods


CHANGES: list[tuple[Change, str, str]] = [
    (
        lambda facts: _fields(facts, "Volume").append([9, "colour", "string"]),
        "missing: field csi.v1.Volume.colour (9 string)",
        "",
    ),
    (
        lambda facts: _fields(facts, "Volume").pop(0),
        "not in the facts: field csi.v1.Volume.capacity_bytes (1 int64)",
        "",
    ),
    (
        lambda facts: _fields(facts, "Volume")[0].__setitem__(0, 6),
        "differs: field csi.v1.Volume.capacity_bytes is (1 int64)",
        "6 int64",
    ),
    (
        lambda facts: _fields(facts, "Volume")[1].__setitem__(2, "repeated string"),
        "differs: field csi.v1.Volume.volume_id is (2 string)",
        "2 repeated string",
    ),
    (
        lambda facts: _fields(facts, "Volume")[2].__setitem__(2, "map<string, bytes>"),
        "differs: field csi.v1.Volume.volume_context is (3 map<string, string>)",
        "3 map<string, bytes>",
    ),
    (
        lambda facts: _fields(facts, "Volume")[0].append("optional"),
        "differs: field csi.v1.Volume.capacity_bytes is (1 int64)",
        "1 int64 optional",
    ),
    (
        lambda facts: _fields(facts, "VolumeCapability")[0].pop(),
        "differs: field csi.v1.VolumeCapability.block is "
        "(1 VolumeCapability.BlockVolume oneof access_type)",
        "1 VolumeCapability.BlockVolume",
    ),
    (
        lambda facts: _fields(facts, "DeleteVolumeRequest")[1].pop(),
        "differs: field csi.v1.DeleteVolumeRequest.secrets is (2 map<string, string> csi_secret)",
        "2 map<string, string>",
    ),
    (
        lambda facts: _modes(facts).update(SINGLE_NODE_MULTI_WRITER=7),
        "differs: value csi.v1.VolumeCapability.AccessMode.Mode.SINGLE_NODE_MULTI_WRITER is "
        "(7 alpha)",
        "7",
    ),
    (
        lambda facts: facts["enums"]["BlockMetadataType"].update(FIXED_LENGTH=3),
        "differs: value csi.v1.BlockMetadataType.FIXED_LENGTH is (1)",
        "3",
    ),
    (
        lambda facts: _methods(facts)["GetMetadataDelta"].pop("server_streaming"),
        "differs: rpc csi.v1.SnapshotMetadata.GetMetadataDelta is "
        "(GetMetadataDeltaRequest -> GetMetadataDeltaResponse server_streaming)",
        "GetMetadataDeltaRequest -> GetMetadataDeltaResponse",
    ),
    (
        lambda facts: facts["services"]["SnapshotMetadata"].pop("options"),
        "differs: service csi.v1.SnapshotMetadata is (alpha)",
        "",
    ),
    (
        lambda facts: facts["messages"]["GetSnapshotRequest"].pop("options"),
        "differs: message csi.v1.GetSnapshotRequest is (alpha)",
        "",
    ),
    (
        lambda facts: facts["extensions"][2].__setitem__(0, 1061),
        "differs: extension csi.v1.csi_secret is (1059 bool of google.protobuf.FieldOptions)",
        "1061 bool of google.protobuf.FieldOptions",
    ),
]


@pytest.mark.parametrize(("change", "line", "fact"), CHANGES, ids=[c[1][:60] for c in CHANGES])
def test_one_change_of_the_facts_is_reported_by_name(change: Change, line: str, fact: str) -> None:
    """A comparison that cannot fail proves nothing, and one that only fails helps nobody."""
    sentence = f"{line}, the facts say ({fact})" if line.startswith("differs") else line
    assert differences(expected(CSI, change), declared(schema(CSI))) == [sentence]


def test_one_change_of_a_schema_is_reported_by_name() -> None:
    """The other direction: a schema that drifts while the facts stay as they are."""
    file = schema(DRA)
    device = next(message for message in file.message_type if message.name == "Device")
    device.field[0].name = "requests"
    device.field[4].proto3_optional = False
    device.reserved_range.add(start=6, end=9)
    package = "k8s.io.kubelet.pkg.apis.dra.v1"
    assert differences(expected(DRA), declared(file)) == [
        f"differs: field {package}.Device.share_id is (5 string oneof _share_id), "
        "the facts say (5 string optional)",
        f"missing: field {package}.Device.request_names (1 repeated string)",
        f"not in the facts: field {package}.Device.requests (1 repeated string)",
        f"not in the facts: reserved {package}.Device 6-8 ()",
    ]


def test_facts_of_an_unknown_kind_are_refused() -> None:
    """Facts may gain a kind, such as extension ranges: reading over it would hide a difference."""
    facts = read("csi-v1")
    facts["messages"]["Volume"]["extension_ranges"] = [[100, 200]]
    with pytest.raises(AssertionError, match=r"nobody reads.*extension_ranges"):
        promised(facts)


def test_versions_that_contradict_each_other_have_no_union() -> None:
    """Should a later version give an old number a new meaning, it needs a schema of its own."""
    name = "field csi.v1.Volume.volume_id"
    with pytest.raises(AssertionError, match=rf"cannot serve both.*{name}"):
        union({name: "2 string"}, {name: "3 string"})


def test_all_schemas_load_together_in_a_fresh_process() -> None:
    """One process plays several interfaces, and a descriptor pool refuses two of the same name."""
    modules = [f"{name}_pb2{suffix}" for name in SCHEMAS for suffix in ("", "_grpc")]
    command = [sys.executable, "-W", "error", "-c", f"import {', '.join(modules)}"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


def test_secrets_are_found_by_reflection() -> None:
    """The journal replaces secrets without a list of its own, for both interfaces that have any."""
    field = csi_pb2.NodeExpandVolumeRequest.DESCRIPTOR.fields_by_name["secrets"]
    assert field.GetOptions().Extensions[csi_pb2.csi_secret]
    assert field.GetOptions().Extensions[csi_pb2.alpha_field]
    auth = cri_pb2.AuthConfig.DESCRIPTOR.fields
    marked = {field.name for field in auth if field.GetOptions().debug_redact}
    assert marked == {"password", "auth", "identity_token", "registry_token"}
