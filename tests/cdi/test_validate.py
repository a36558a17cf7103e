"""A document is judged: what is wrong, where, by which rule, how hard under which policy."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refimpl.cdi.model import Spec
from refimpl.cdi.rules import POLICIES, RULES
from refimpl.cdi.shape import OBJECTS
from refimpl.cdi.validate import judge
from refimpl.cdi.versions import VERSIONS

Document = Callable[..., dict[str, Any]]  # see conftest.py

SMALL = """\
cdiVersion: 0.5.0
kind: vendor.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/gpu0
"""


def levels(value: Any, *, name: str = "f.json") -> dict[str, tuple[str, ...]]:
    """Rule to its level under (strict, practice); "" where the policy does not count it."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    by_policy = {
        policy: {
            finding.rule: finding.level
            for finding in judge(data, name=name, policy=policy).findings
        }
        for policy in POLICIES
    }
    rules = by_policy["strict"] | by_policy["practice"]
    return {rule: tuple(by_policy[policy].get(rule, "") for policy in POLICIES) for rule in rules}


BOTH = ("error", "error")


def test_a_sound_document_gives_the_same_model_as_json_and_as_yaml(document: Document) -> None:
    """CDI-001."""
    as_json = judge(json.dumps(document(version="0.5.0")).encode(), name="f.json")
    text = b"cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices:\n- name: '0'\n"
    as_yaml = judge(text + b"  containerEdits: {env: [A=b]}\n", name="f.yaml")
    assert as_json.findings == as_yaml.findings == ()
    assert isinstance(as_json.spec, Spec)
    assert as_json.spec == as_yaml.spec
    assert (as_json.spec.vendor, as_json.spec.device_class) == ("vendor.com", "gpu")


def test_a_finding_has_its_place_its_rule_and_what_to_do() -> None:
    """As compilers print it, so that editors jump there."""
    text = SMALL.replace("/dev/gpu0", "gpu0\n      permissions: rwx")
    permissions, path = (
        next(
            finding
            for finding in judge(text.encode(), name="f.yaml").findings
            if finding.rule == rule
        )
        for rule in ("device-permissions", "device-path")
    )
    assert str(permissions) == (
        "f.yaml:8:20: error: 'rwx' are no permissions; write letters of rwm, or none"
        " [device-permissions]"
    )
    assert (path.line, path.column, path.level) == (7, 13, "warning")
    assert path.to_dict() == {
        "rule": "device-path",
        "level": "warning",
        "pointer": "/devices/0/containerEdits/deviceNodes/0/path",
        "file": "f.yaml",
        "line": 7,
        "column": 13,
        "text": "path 'gpu0' is not absolute",
        "hint": RULES["device-path"].hint,
        "source": "CDI SPEC",
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_from_the_floor_is_taken(version: str) -> None:
    """CDI-002, CDI-003: the two before it are names without a release."""
    judged = judge(SMALL.replace("0.5.0", version).replace('"0"', "a").encode())
    assert ([finding.rule for finding in judged.findings] == []) is (version >= "0.3.0")
    assert (judged.spec is None) is (version < "0.3.0")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("v0.6.0", {"version-prefix": ("error", "warning")}),
        ("0.6", {"version-unknown": BOTH}),
        ("2.0.0", {"version-unknown": BOTH}),
        ("", {"required": BOTH}),
        (None, {"null": ("error", "warning"), "required": BOTH}),
    ],
)
def test_other_versions_are_refused(document: Document, version: Any, expected: object) -> None:
    """A leading v is no semantic version, but loaders take it."""
    assert levels(document(version=version)) == expected


@pytest.mark.parametrize(
    ("below", "at", "change"),
    [
        ("0.3.0", "0.4.0", {"mounts": [{"hostPath": "/a", "containerPath": "/b", "type": "x"}]}),
        ("0.4.0", "0.5.0", {"deviceNodes": [{"path": "/a", "hostPath": "/b"}]}),
        ("0.6.0", "0.7.0", {"additionalGids": [3]}),
        ("0.6.0", "0.7.0", {"intelRdt": {"closID": "a"}}),
        ("1.0.0", "1.1.0", {"netDevices": [{"hostInterfaceName": "a", "name": "b"}]}),
        ("1.0.0", "1.1.0", {"intelRdt": {"enableMonitoring": True}}),
    ],
)
def test_a_feature_is_refused_below_its_version(
    document: Document, below: str, at: str, change: dict[str, Any]
) -> None:
    """CDI-004, CDI-005."""
    device = {"gpu": change}
    assert levels(document(version=below, devices=device)) == {"version-minimum": BOTH}
    assert levels(document(version=at, devices=device)) == {}


def test_an_empty_member_of_a_later_version_is_the_policys_matter(document: Document) -> None:
    """CDI-008: the library does not see it."""
    change = {"gpu": {"intelRdt": {"enableMonitoring": False}}}
    counted = levels(document(version="1.0.0", devices=change))
    assert counted == {"version-presence": ("error", "warning")}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.7.0", {"removed-field": ("warning", "error")}),
        ("v1.0.0", {"removed-field": ("warning", "error"), "version-prefix": ("error", "warning")}),
        ("1.1.0", {"unknown-field": BOTH}),
        ("0.6.0", {"unknown-field": BOTH, "version-minimum": BOTH}),
    ],
)
def test_a_removed_member_is_known_only_to_its_versions(
    document: Document, version: str, expected: object
) -> None:
    """CDI-007: newer libraries refuse the file whatever version it declares."""
    change = {"gpu": {"intelRdt": {"enableCMT": True}}}
    assert levels(document(version=version, devices=change)) == expected


@pytest.mark.parametrize(
    "at",
    [(), ("devices", 0), ("containerEdits",), ("devices", 0, "containerEdits"),
     ("containerEdits", "deviceNodes", 0), ("containerEdits", "netDevices", 0),
     ("containerEdits", "hooks", 0), ("containerEdits", "mounts", 0),
     ("containerEdits", "intelRdt")],
)  # fmt: skip
def test_an_unknown_member_is_refused_at_every_level(
    document: Document, at: tuple[str | int, ...]
) -> None:
    """CDI-006; with the place of its name."""
    value = document(
        edits={
            "deviceNodes": [{"path": "/a"}],
            "netDevices": [{"hostInterfaceName": "a", "name": "b"}],
            "hooks": [{"hookName": "poststop", "path": "/a"}],
            "mounts": [{"hostPath": "/a", "containerPath": "/b"}],
            "intelRdt": {},
        }
    )
    assert levels(value) == {}
    inner: Any = value
    for step in at:
        inner = inner[step]
    inner["surprise"] = 1
    (finding,) = judge(json.dumps(value, indent=1).encode(), name="f.json").findings
    assert (finding.rule, finding.pointer) == ("unknown-field", (*at, "surprise"))
    line = json.dumps(value, indent=1).splitlines()[finding.line - 1]
    assert line[finding.column - 1 :].startswith('"surprise"')


def test_the_case_of_letters_counts_and_the_right_spelling_is_told(document: Document) -> None:
    """CDI-024: the specification's own sample misspells this one."""
    value = document(devices={"gpu": {"env": ["A=b"], "additionalGIDs": [1]}})
    (finding,) = judge(json.dumps(value).encode()).findings
    assert "did you mean additionalGids?" in finding.text


@pytest.mark.parametrize("kind", ["foo", "vendor.com/foo/", "vendor.com/foo/bar", "/foo", "-/a"])
def test_a_kind_that_is_none_is_refused(document: Document, kind: str) -> None:
    """CDI-009."""
    assert levels(document(kind=kind)) == {"kind": BOTH}


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("Vendor.com/gpu", "vendor-dns"),
        ("vendor_x/gpu", "vendor-dns"),
        ("v" * 254 + "/gpu", "vendor-dns"),
        ("vendor.com/" + "c" * 64, "class-length"),
    ],
)
def test_what_only_the_text_forbids_in_a_kind(document: Document, kind: str, rule: str) -> None:
    """CDI-010, CDI-011."""
    assert levels(document(kind=kind)) == {rule: ("error", "warning")}


def test_a_dot_in_the_class_needs_its_version(document: Document) -> None:
    """CDI-011."""
    assert levels(document(version="0.5.0", kind="a/b.c")) == {"version-minimum": BOTH}
    assert levels(document(version="0.6.0", kind="a/b.c")) == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("0", {}), ("a:b", {"device-colon": ("warning", "")}), ("a_", {"device-name": BOTH}),
     ("-a", {"device-name": BOTH}), ("", {"device-name": BOTH}), ("ü", {"device-name": BOTH})],
)  # fmt: skip
def test_device_names(document: Document, name: str, expected: object) -> None:
    """CDI-012."""
    assert levels(document(devices={name: {"env": ["A=b"]}})) == expected


def test_there_is_a_device_and_each_has_its_own_name(document: Document) -> None:
    """CDI-013."""
    assert levels(document(devices={})) == {"no-devices": BOTH}
    twice = document()
    twice["devices"] *= 2
    assert levels(twice) == {"duplicate-device": BOTH}
    del twice["devices"]
    assert levels(twice) == {"no-devices": BOTH}


@pytest.mark.parametrize("edits", [{}, {"env": []}, {"env": [], "mounts": []}])
def test_a_device_without_edits_is_the_policys_matter(document: Document, edits: Any) -> None:
    """CDI-014: the text calls them optional, the library refuses the file."""
    assert levels(document(devices={"a": edits})) == {"empty-device": ("warning", "error")}


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"vendor.com/name": "x", "UPPER": ""}, {}),
        ({"bad key": "x"}, {"annotation-key": ("error", "warning")}),
        ({"a/b/c": "x"}, {"annotation-key": ("error", "warning")}),
        ({"k": "x" * 262144}, {"annotation-size": ("error", "warning")}),
        ({"k": 5}, {"unquoted": ("error", "warning")}),
        ({"k": ["x"]}, {"type": BOTH}),
        (["k"], {"type": BOTH}),
    ],
)
def test_annotations_keep_the_rules_of_kubernetes(
    document: Document, annotations: Any, expected: object
) -> None:
    """CDI-021: meant by the library too, but never checked there."""
    value = document()
    value["annotations"] = annotations
    assert levels(value) == expected
    value = document()
    value["devices"][0]["annotations"] = annotations
    assert levels(value) == expected


def test_a_scalar_without_quotes_stands_for_its_text() -> None:
    """007 is a device that containers can ask for; the library sees it so, too."""
    text = SMALL.replace('"0"', "007")
    judged = judge(text.encode(), policy="practice")
    assert judged.spec is not None
    assert judged.spec.devices[0].name == "007"
    assert {finding.rule for finding in judged.findings} == {"unquoted", "number"}
    assert judge(text.encode(), policy="strict").spec is None


def test_a_wrong_item_does_not_move_the_places_of_those_behind_it(document: Document) -> None:
    """And is found wrong once."""
    value = document(
        devices={"a": {"env": [None, "A"], "deviceNodes": [3, {"path": "/a", "type": "z"}]}}
    )
    value["devices"].insert(0, None)
    faults = {
        (finding.rule, finding.pointer) for finding in judge(json.dumps(value).encode()).findings
    }
    edits = ("devices", 1, "containerEdits")
    assert faults == {
        ("type", ("devices", 0)),
        ("type", (*edits, "env", 0)),
        ("env", (*edits, "env", 1)),
        ("type", (*edits, "deviceNodes", 0)),
        ("device-type", (*edits, "deviceNodes", 1, "type")),
    }


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "syntax"),
        (b"null", "type"),
        (b"[]", "type"),
        (b"3", "type"),
        (b"a: 1\n---\nb: 2\n", "syntax"),
        (b"a: 1\na: 2\n", "syntax"),
        (b"\xff", "syntax"),
        (b'{"kind": "a/b", "kind": "a/b"}', "duplicate-key"),
    ],
)
def test_what_is_no_single_object_is_refused(data: bytes, rule: str) -> None:
    """CDI-025."""
    judged = judge(data)
    assert judged.spec is None
    assert rule in {finding.rule for finding in judged.errors}


def test_a_json_file_that_is_yaml_is_the_policys_matter() -> None:
    """The library reads every file as YAML."""
    assert levels(SMALL.encode(), name="f.json") == {"not-json": ("error", "warning")}
    assert levels(SMALL.encode(), name="f.yaml") == {}
    assert levels(b"{", name="f.json") == {"syntax": BOTH}


def test_a_mark_at_the_start_is_told() -> None:
    """Editors of Windows write it."""
    assert levels(b"\xef\xbb\xbf" + SMALL.encode(), name="f.yaml") == {
        "byte-order-mark": ("warning", "warning")
    }


ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["/dev/x", "A=b", "c", "rwm", "1.1.0", "a/b", "createRuntime"])
)
NAMES = st.sampled_from([*sorted({name for each in OBJECTS.values() for name in each}), "odd\n"])
TREES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "cdiVersion": st.sampled_from(VERSIONS) | ATOMS,
        "kind": st.sampled_from(["a/b", "vendor.com/x"]) | ATOMS,
        "annotations": TREES,
        "containerEdits": st.dictionaries(NAMES, TREES) | TREES,
        "devices": st.lists(st.dictionaries(NAMES, TREES) | TREES) | TREES,
    },
)


@given(st.binary(max_size=80), st.sampled_from(["f.json", "f.yaml", ""]), st.sampled_from(POLICIES))
@example(b"cdiVersion: 0x" + b"f" * 5000, "f.yaml", "practice")
@example(b"[" * 5000, "f.json", "practice")
def test_no_text_makes_it_raise(data: bytes, name: str, policy: Any) -> None:
    """Whatever lies in the directory of a machine."""
    judged = judge(data, name=name, policy=policy)
    assert (judged.spec is None) == bool(judged.errors)


@given(SPECS | TREES, st.sampled_from(POLICIES))
def test_no_document_makes_it_raise(value: Any, policy: Any) -> None:
    """Every finding has a place in the text, a known rule and prints on one line."""
    text = json.dumps(value, indent=1)
    judged = judge(text.encode(), name="f.json", policy=policy)
    lines = text.splitlines()
    for finding in judged.findings:
        assert finding.rule in RULES
        assert 1 <= finding.line <= len(lines)
        assert str(finding).isprintable()
    assert (judged.spec is None) == bool(judged.errors)
