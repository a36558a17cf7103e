"""A specification as objects, and as a document again."""

from __future__ import annotations

from refimpl.cdi.model import (
    ContainerEdits,
    Device,
    DeviceNode,
    IntelRdt,
    Mount,
    Spec,
    decode,
    encode,
)


def test_what_is_not_given_is_left_out_but_for_what_must_be_there() -> None:
    """Zero is a value where nothing would mean something else."""
    assert encode(Spec()) == {"cdiVersion": "", "kind": "", "devices": []}
    assert encode(DeviceNode("/a")) == {"path": "/a"}
    assert encode(DeviceNode("/a", file_mode=0, uid=0)) == {"path": "/a", "fileMode": 0, "uid": 0}
    assert encode(Mount("/a", "/b")) == {"hostPath": "/a", "containerPath": "/b"}
    assert encode(ContainerEdits(intel_rdt=IntelRdt())) == {"intelRdt": {}}


def test_a_document_is_decoded_to_what_it_is_encoded_from() -> None:
    """Members keep their order, too."""
    edits = ContainerEdits(env=["A=b"], device_nodes=[DeviceNode("/a", type="c")])
    spec = Spec("1.1.0", "v.com/gpu", {"a": "b"}, [Device("0", {}, edits)], edits)
    document = encode(spec)
    assert list(document) == ["cdiVersion", "kind", "annotations", "devices", "containerEdits"]
    assert decode(document, Spec) == spec
    assert (spec.vendor, spec.device_class) == ("v.com", "gpu")
    assert spec.qualified(spec.devices[0]) == "v.com/gpu=0"


def test_edits_add_up_in_order() -> None:
    """Nothing is empty."""
    first, second = ContainerEdits(env=["A=1"]), ContainerEdits(env=["A=2"], additional_gids=[1])
    assert (first + second).env == ("A=1", "A=2")
    assert (first + ContainerEdits()) == first
    assert not ContainerEdits()
    assert ContainerEdits(intel_rdt=IntelRdt())
