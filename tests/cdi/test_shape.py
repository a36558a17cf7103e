"""The shape of documents agrees with the objects they become."""

from __future__ import annotations

import attrs
import pytest

from refimpl.cdi import model
from refimpl.cdi.findings import Findings
from refimpl.cdi.shape import OBJECTS, REQUIRED, read
from refimpl.documents import yaml

KINDS = {
    "spec": model.Spec,
    "device": model.Device,
    "edits": model.ContainerEdits,
    "node": model.DeviceNode,
    "interface": model.NetDevice,
    "hook": model.Hook,
    "mount": model.Mount,
    "rdt": model.IntelRdt,
}


@pytest.mark.parametrize("kind", list(OBJECTS))
def test_an_object_has_the_members_of_its_class(kind: str) -> None:
    """And those it must have are always written."""
    fields = {field.metadata["name"]: field.metadata for field in attrs.fields(KINDS[kind])}
    assert set(fields) == set(OBJECTS[kind])
    always = {name for name, metadata in fields.items() if metadata.get("required")}
    assert set(REQUIRED.get(kind, ())) <= always


def test_what_is_read_is_in_shape() -> None:
    """Null members are gone, scalars are text where text belongs, misfits are told."""
    text = b"cdiVersion: 1.0\nkind: a/b\nannotations:\ndevices: [{name: 0x10}, 3]\nx: 1\n"
    findings = Findings("practice", "", yaml.parse(text))
    assert read(yaml.parse(text).value, findings) == {
        "cdiVersion": "1.0",
        "kind": "a/b",
        "devices": [{"name": "0x10"}, {}],
    }
    rules = [finding.rule for finding in findings.ordered()]
    assert rules == ["unquoted", "null", "unquoted", "type", "unknown-field"]
