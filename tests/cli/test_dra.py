"""`refimpl dra`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    attributes: {model: {string: A100}}
    capacity: {memory: {value: 80Gi}}
  - name: gpu-1
    attributes: {model: {string: T4}}
"""
LARGE = 'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))'
MODEL = 'device.attributes["gpu.example.com"].model == "A100"'


@pytest.fixture
def slices(tmp_path: Path) -> Path:
    """A file with two devices."""
    path = tmp_path / "slice.yaml"
    path.write_text(SLICE)
    return path


def test_each_device_of_a_slice_is_told(refimpl: Command, slices: Path) -> None:
    """By driver, pool and name."""
    result = refimpl("dra", "cel", MODEL, "--device", str(slices))
    assert result.returncode == 0
    assert result.stdout.splitlines() == [
        "gpu.example.com/node-1/gpu-0  match",
        "gpu.example.com/node-1/gpu-1  no match",
    ]


def test_an_error_on_one_device_fails(refimpl: Command, slices: Path) -> None:
    """A scheduler gives up then, even where others would do."""
    result = refimpl("dra", "cel", LARGE, "--device", str(slices), "--json")
    assert result.returncode == 1
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["said"] == "match"
    assert second == {
        "device": "gpu.example.com/node-1/gpu-1",
        "said": "error",
        "error": "no such key: memory",
    }


def test_without_devices_it_is_only_compiled(refimpl: Command) -> None:
    """The worst case is what an API server goes by."""
    result = refimpl("dra", "cel", 'device.driver == "d"')
    assert (result.returncode, result.stdout) == (0, "bool, costs 3 of 1,000,000 at most\n")


def test_what_is_refused_is_pointed_at(refimpl: Command) -> None:
    """The line with a mark below the place."""
    result = refimpl("dra", "cel", "true &&\n  device.foo == 1")
    assert result.returncode == 4
    assert "undefined field 'foo'\n    device.foo == 1\n    ^" in result.stderr


def test_what_is_too_expensive_runs_when_it_is_stored(refimpl: Command) -> None:
    """Only new ones are refused for it."""
    expensive = '["a", "b"].join("-") == "a-b"'
    refused = refimpl("dra", "cel", expensive)
    assert refused.returncode == 4
    assert "1000000 are allowed" in refused.message
    assert refimpl("dra", "cel", expensive, "--stored").returncode == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "yaml"),
        ("kind: Pod", "has no device"),
        ("[1]", "is no object"),
        ("attributes: {a: {}}", "an attribute has one of"),
        ("capacity: {a: {value: 1 k}}", "is no quantity"),
        ("attributes: 1", "device"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(
    refimpl: Command, tmp_path: Path, text: str, told: str
) -> None:
    """Exit code 4, and what it lacks."""
    path = tmp_path / "device.yaml"
    path.write_text(text)
    result = refimpl("dra", "cel", "true", "--device", str(path))
    assert result.returncode == 4
    assert told in result.stderr


def test_a_missing_file_is_told(refimpl: Command) -> None:
    """With its name."""
    result = refimpl("dra", "cel", "true", "--device", "missing.yaml")
    assert result.returncode == 4
    assert "missing.yaml: No such file" in result.message


OBJECTS = """\
# a slice with two mistakes, and a claim
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  nodeName: n1
  devices:
  - name: GPU_0
    foo: 1
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: r
      exactly:
        deviceClassName: gpu
        selectors: [{cel: {expression: "device.foo == 1"}}]
"""


def test_all_that_is_wrong_is_told_with_its_line(refimpl: Command, tmp_path: Path) -> None:
    """Of every document of a file."""
    path = tmp_path / "objects.yaml"
    path.write_text(OBJECTS)
    result = refimpl("dra", "validate", str(path))
    assert result.returncode == 1
    assert result.stderr == "2 objects, 2 errors, 1 warnings\n"
    first, unknown, expression = result.stdout.splitlines()
    assert first.startswith(f"{path}:10:5: error: spec.devices[0].name: 'GPU_0' is no DNS label")
    assert unknown.startswith(f"{path}:11:5: warning: spec.devices[0].foo: Device has no field")
    assert expression.startswith(f"{path}:22:")
    assert "undefined field 'foo' (FieldValueInvalid)" in expression


def test_findings_are_json_too(refimpl: Command, tmp_path: Path) -> None:
    """One a line."""
    path = tmp_path / "objects.yaml"
    path.write_text(OBJECTS)
    result = refimpl("dra", "validate", str(path), "--json")
    first = json.loads(result.stdout.splitlines()[0])
    assert (first["line"], first["field"]) == (10, "spec.devices[0].name")
    assert first["reason"] == "FieldValueInvalid"


def test_lists_of_objects_are_judged(refimpl: Command, tmp_path: Path) -> None:
    """As kubectl get -o json writes them."""
    path = tmp_path / "list.json"
    bad = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "spec": {"selectors": [{}]}}
    path.write_text(json.dumps({"kind": "List", "items": [bad, {"kind": "Pod"}]}))
    result = refimpl("dra", "validate", str(path))
    assert result.returncode == 1
    assert "spec.selectors[0].cel: has to be given (FieldValueRequired)" in result.stdout
    assert result.stderr.startswith("1 objects")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kind: Pod", "has no object of resource.k8s.io"),
        ("a: [", "objects.yaml:"),
        ("a: &a [1]\nb: [*a", "objects.yaml:"),
    ],
)
def test_a_file_without_objects_is_told(
    refimpl: Command, tmp_path: Path, text: str, told: str
) -> None:
    """Exit code 4."""
    path = tmp_path / "objects.yaml"
    path.write_text(text)
    result = refimpl("dra", "validate", str(path))
    assert result.returncode == 4
    assert told in result.stderr


def test_another_version_is_told(refimpl: Command, tmp_path: Path) -> None:
    """Only v1 is judged."""
    path = tmp_path / "objects.yaml"
    path.write_text("apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaim\n")
    result = refimpl("dra", "validate", str(path))
    assert result.returncode == 1
    assert "write it as resource.k8s.io/v1 (NotFound)" in result.stdout


WORLD = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: r
      exactly:
        deviceClassName: gpu
        selectors: [{cel: {expression: 'device.attributes["gpu.example.com"].model == "A100"'}}]
"""


@pytest.fixture
def world(tmp_path: Path) -> list[str]:
    """A claim, its class, and slices of two nodes."""
    (tmp_path / "claim.yaml").write_text(WORLD)
    (tmp_path / "slice.yaml").write_text(
        SLICE.replace("pool:", "nodeName: node-1\n  pool:")
        + "---\n"
        + SLICE.replace("pool:", "nodeName: node-2\n  pool:")
        .replace("name: node-1,", "name: node-2,")
        .replace("{model: {string: A100}}", "{model: {string: L4}}")
    )
    return [str(tmp_path / "claim.yaml"), str(tmp_path / "slice.yaml")]


def test_an_allocation_is_explained_node_by_node(refimpl: Command, world: list[str]) -> None:
    """Where it fits with the devices, elsewhere with the rule that refused each."""
    result = refimpl("dra", "explain-allocation", *world)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[:2] == ["node-1: fits", "  r: gpu.example.com/node-1/gpu-0"]
    assert lines[2:4] == ["node-2: does not fit", "  c: r: 0 of 1 devices at most"]
    assert lines[4].startswith(
        "    gpu.example.com/node-2/gpu-0  selector: selector 0 of the request does not match"
    )


def test_a_claim_that_fits_nowhere_fails(refimpl: Command, world: list[str]) -> None:
    """Exit code 1, and each refusal as data."""
    result = refimpl("dra", "explain-allocation", *world, "--node", "node-2", "--json")
    assert result.returncode == 1
    told = json.loads(result.stdout)
    assert (told["node"], told["fits"]) == ("node-2", False)
    assert [each["rule"] for each in told["refused"]] == ["selector", "selector"]


def test_a_node_that_there_is_not_is_told(refimpl: Command, world: list[str]) -> None:
    """With those that there are."""
    result = refimpl("dra", "explain-allocation", world[0], "--node", "x")
    assert result.returncode == 1
    assert "c: r: 0 of 1 devices at most" in result.stdout
    result = refimpl("dra", "explain-allocation", world[1])
    assert result.returncode == 4
    assert "no ResourceClaim" in result.message


def test_objects_that_would_be_refused_are_not_allocated(refimpl: Command, tmp_path: Path) -> None:
    """The first mistake is told, and where to see all."""
    path = tmp_path / "claim.yaml"
    path.write_text(WORLD.replace("name: r", "name: R"))
    result = refimpl("dra", "explain-allocation", str(path))
    assert result.returncode == 4
    assert "refimpl dra validate tells all that is wrong" in result.message
