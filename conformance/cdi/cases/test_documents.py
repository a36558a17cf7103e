"""Documents: what a file must be before anything of it counts."""

from __future__ import annotations

import json
from typing import Any

from conformance.cdi.documents import LATEST, Document, document, hook, marked
from conformance.cdi.host import CdiHost
from conformance.cdi.judging import judged
from conformance.cdi.needs import INJECT, LOAD, STRICT
from conformance.engine.case import case
from conformance.engine.verdict import expect

_YAML = """\
cdiVersion: "0.3.0"
kind: vendor.example/device
devices:
- name: a
  containerEdits:
    env: [REFIMPL_DEVICE=a]
    mounts:
    - hostPath: /opt/refimpl
      containerPath: /opt/refimpl
      options: [ro, bind]
"""
_MOUNT = {"hostPath": "/opt/refimpl", "containerPath": "/opt/refimpl", "options": ["ro", "bind"]}


@case("CDI-001", "CDI JSON Definition", needs=[LOAD, INJECT])
def test_a_document_is_the_same_in_json_and_in_yaml(host: CdiHost) -> None:
    """Vendors write either; nobody should have to know which."""
    edits = {"env": ["REFIMPL_DEVICE=a"], "mounts": [_MOUNT]}
    forms = {}
    for name, content in (("a.json", document(version="0.3.0", edits=edits)), ("b.yaml", _YAML)):
        host.open(host.put(host.directory(name.partition(".")[0]) / name, content).parent)
        loaded = host.load()
        rule = f"a small {name[2:].upper()} document loads"
        wanted = "vendor.example/device=a"
        expect(wanted in loaded.devices, rule, wanted=wanted, got=loaded)
        forms[name] = host.inject(wanted)
    rule = "both forms of a document change the same"
    expect(forms["a.json"] == forms["b.yaml"], rule, wanted=forms["a.json"], got=forms["b.yaml"])


@case("CDI-006", "CDI JSON Definition", needs=[LOAD])
def test_a_member_that_is_not_known_is_refused_wherever_it_stands(host: CdiHost) -> None:
    """A misspelled edit that is passed over is a container without its device."""
    node = {"path": "/dev/refimpl", "type": "c", "major": 240}
    net = {"hostInterfaceName": "host0", "name": "net0"}
    strange: Document = {"refimplUnknown": 1}
    inner: dict[str, Any] = {
        "a device node": {"deviceNodes": [{**node, **strange}]},
        "a mount": {"mounts": [{**_MOUNT, **strange}]},
        "a hook": {"hooks": [hook("/bin/true", **strange)]},
        "a net device": {"netDevices": [{**net, **strange}]},
        "intelRdt": {"intelRdt": {"closID": "a", **strange}},
        "containerEdits": {"env": ["A=b"], **strange},
    }
    refused = {f"in {place}": document(edits=edits) for place, edits in inner.items()}
    refused |= {
        "in the document": document(**strange),
        "in a device": document(device=strange),
        "in the file's containerEdits": document(spec={"env": ["A=b"], **strange}),
    }
    judged(host, "a document has the members that the specification names", refused=refused)


@case("CDI-013", "CDI Devices", needs=[LOAD])
def test_a_document_has_devices_each_with_a_name_of_its_own(host: CdiHost) -> None:
    """A name that stands for two devices cannot be requested."""
    nothing, empty, twice = document(), document(), document()
    del nothing["devices"]
    empty["devices"] = []
    twice["devices"] = [marked("a"), marked("a")]
    refused = {"no devices": nothing, "an empty list": empty, "the same name twice": twice}
    judged(host, "at least one device must be specified, and each name once", refused=refused)


@case("CDI-021", "CDI JSON Definition, annotations", needs=[LOAD])
def test_annotations_keep_the_rules_of_kubernetes(host: CdiHost) -> None:
    """They are handed on to where those rules are enforced."""
    sound = {"refimpl.example/a": "b", "plain": ""}
    wrong: dict[str, Any] = {"a list as a value": {"a": ["b"]}}
    if host.settings.policy == "strict":
        wrong |= {
            "a key with a space": {"a key": "b"},
            "an empty name": {"refimpl.example/": "b"},
            "a number as a value": {"a": 5},
            "more than 256 KiB": {"a": "b" * (256 * 1024)},
        }
    refused = {label: document(annotations=each) for label, each in wrong.items()}
    refused |= {
        f"{label} of a device": document(device={"annotations": each})
        for label, each in wrong.items()
    }
    taken = {"sound ones": document(annotations=sound)}
    judged(host, "annotations are texts under qualified names", taken=taken, refused=refused)


@case("CDI-023", "CDI OCI Edits, env", needs=[LOAD])
def test_a_number_is_no_variable(host: CdiHost) -> None:
    """A schema that leaves items of env unchecked passes it on."""
    refused = {
        "a number": document(edits={"env": [5]}),
        "a number after a variable": document(edits={"env": ["A=b", 5]}),
        "a number in the file's edits": document(spec={"env": [5]}),
    }
    judged(host, "env is an array of strings", refused=refused)


@case("CDI-024", "CDI JSON Definition", needs=[LOAD, STRICT])
def test_the_case_of_letters_counts_in_names_of_members(host: CdiHost) -> None:
    """JSON names are case-sensitive; a reader that is not lets files pass that others refuse."""
    upper = document()
    upper["CDIVersion"] = upper.pop("cdiVersion")
    refused = {
        "CDIVersion": upper,
        "additionalGIDs": document(edits={"additionalGIDs": [5]}),
        "Env": document(edits={"Env": ["A=b"]}),
    }
    judged(host, "members are named as in the specification", refused=refused)


def _yaml(tail: str) -> str:
    return f"cdiVersion: {LATEST}\nkind: vendor.example/device\n{tail}"


@case("CDI-025", "CDI JSON Definition", needs=[LOAD])
def test_yaml_is_one_document_in_which_a_name_stands_once(host: CdiHost) -> None:
    """Of two values for one name readers take different ones."""
    shared = (
        "devices:\n- name: a\n  containerEdits: &all {env: [A=b]}\n"
        "- name: b\n  containerEdits: *all\n"
    )
    device = "devices:\n- name: a\n  containerEdits: {env: [A=b]}\n"
    second = f"{_yaml(device)}---\n{json.dumps(document(name='b'))}\n"
    # The library reads the first of two documents.
    two = {"two documents": second} if host.settings.policy == "strict" else {}
    judged(
        host,
        "a file is one object whose members have one value each",
        taken={"an anchor and an alias": _yaml(shared)},
        refused={
            "a member given twice": _yaml(f"kind: vendor.example/other\n{device}"),
            "an inner member given twice": _yaml(device + "  name: b\n"),
            "an empty file": "",
            "nothing but a comment": "# nothing\n",
            **two,
        },
    )
