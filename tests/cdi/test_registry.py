"""Which definition a name stands for."""

from __future__ import annotations

import itertools

import pytest

from refimpl.cdi.findings import Finding
from refimpl.cdi.model import ContainerEdits, Device, Spec
from refimpl.cdi.registry import Registry, SpecFile, Unresolved

GPU0, GPU1 = "vendor.com/gpu=0", "vendor.com/gpu=1"


def file(path: str, priority: int, *devices: str, kind: str = "vendor.com/gpu") -> SpecFile:
    """A file whose devices set a variable to its path."""
    edits = ContainerEdits(env=[f"FROM={path}"])
    described = [Device(name, container_edits=edits) for name in devices]
    top = ContainerEdits(env=[f"FILE={path}"])
    return SpecFile(path, priority, Spec("1.1.0", kind, {}, described, top))


def test_a_device_is_found_by_its_qualified_name() -> None:
    """With what defines it."""
    registry = Registry([file("/etc/cdi/a.yaml", 0, "0", "1")])
    assert registry.names == (GPU0, GPU1)
    entry = registry.get(GPU0)
    assert entry is not None
    assert (entry.path, entry.priority, entry.device.name) == ("/etc/cdi/a.yaml", 0, "0")
    assert registry.why_not(GPU0) == ""
    assert registry.get("vendor.com/gpu=2") is None
    assert registry.problems == {}


def test_the_later_directory_wins() -> None:
    """CDI-030."""
    registry = Registry([file("/etc/a", 0, "0", "1"), file("/run/a", 1, "0")])
    assert [entry.path for entry in registry.resolve([GPU0, GPU1])] == ["/run/a", "/etc/a"]
    assert registry.problems == {}


def test_two_of_the_same_priority_make_a_device_unusable() -> None:
    """CDI-031: both files are told of it, their other devices stay."""
    registry = Registry([file("/etc/a", 0, "0", "1"), file("/etc/b", 0, "0")])
    assert registry.names == (GPU1,)
    assert registry.problems["/etc/a"] == [f"{GPU0} is defined by /etc/b, too; keep one"]
    assert registry.problems["/etc/b"] == [f"{GPU0} is defined by /etc/a, too; keep one"]
    assert registry.why_not(GPU0) == f"{GPU0} is defined by /etc/a and /etc/b; remove one of them"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_higher_priority_settles_a_conflict(order: tuple[int, ...]) -> None:
    """CDI-032: in whatever order the files come; the conflict below is told all the same."""
    files = [file("/etc/a", 0, "0"), file("/etc/b", 0, "0"), file("/run/c", 1, "0")]
    registry = Registry([files[place] for place in order])
    (entry,) = registry.resolve([GPU0])
    assert entry.path == "/run/c"
    assert set(registry.problems) == {"/etc/a", "/etc/b"}


def test_a_conflict_is_not_settled_from_below() -> None:
    """What an administrator overrode must not come back because it was done twice."""
    files = [file("/etc/a", 0, "0"), file("/run/b", 1, "0"), file("/run/c", 1, "0")]
    assert Registry(files).get(GPU0) is None


def test_problems_of_files_and_directories_are_kept() -> None:
    """Warnings are not problems."""
    findings = tuple(
        Finding(rule, level, (), "/etc/a", 1, 1, "text")
        for rule, level in (("kind", "error"), ("null", "warning"))
    )
    broken = SpecFile("/etc/a", 0, None, findings)  # type: ignore[arg-type]
    registry = Registry([broken], {"/run": "/run cannot be read: Permission denied"})
    assert registry.problems["/run"] == ["/run cannot be read: Permission denied"]
    assert registry.problems["/etc/a"] == [str(findings[0])]
    assert registry.specs == ()


def test_everything_that_cannot_be_had_is_named_with_its_reason() -> None:
    """CDI-040."""
    registry = Registry([file("/a", 0, "0")])
    requested = ["other.com/nic=0", GPU0, "vendor.com/gpu=9", "gpu"]
    with pytest.raises(Unresolved) as caught:
        registry.resolve(requested)
    assert caught.value.names == ("other.com/nic=0", "vendor.com/gpu=9", "gpu")
    assert "no file defines the kind other.com/nic (known: vendor.com/gpu)" in str(caught.value)
    assert "vendor.com/gpu=9: the kind vendor.com/gpu is known, but has no" in str(caught.value)
    assert "'gpu' is no qualified device name" in str(caught.value)


def test_the_edits_of_a_file_come_once_before_its_first_device() -> None:
    """CDI-041, CDI-042."""
    registry = Registry(
        [file("/a", 0, "0", "1"), file("/b", 0, "2"), file("/c", 0, "0", kind="o.com/nic")]
    )
    assert registry.edits([GPU1, "o.com/nic=0", GPU0]).env == (
        "FILE=/a",
        "FROM=/a",
        "FILE=/c",
        "FROM=/c",
        "FROM=/a",
    )


def test_a_name_given_twice_counts_once_unless_that_is_asked_for() -> None:
    """CDI-054: the library edits twice, which doubles hooks."""
    registry = Registry([file("/a", 0, "0")])
    assert registry.edits([GPU0, GPU0]).env == ("FILE=/a", "FROM=/a")
    assert registry.edits([GPU0, GPU0], unique=False).env == ("FILE=/a", "FROM=/a", "FROM=/a")
