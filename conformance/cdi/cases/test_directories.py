"""Directories: which files count, and which of two definitions."""

from __future__ import annotations

import os
from pathlib import Path

from conformance.cdi.documents import document, several, variables
from conformance.cdi.host import CdiHost, Content
from conformance.cdi.needs import DIRECTORIES, INJECT, LOAD, REQUEST, STRICT, TWO_DIRECTORIES
from conformance.engine.case import case
from conformance.engine.verdict import expect, timeout, together

# The size of CDI-039: with --heavy as the row has it, else small enough for every run.
_LARGE, _SMALL = (1000, 100), (40, 25)
_DEVICE_BYTES = 20_000
_LOAD_S = 60.0


def _says(host: CdiHost, text: str, directory: int) -> str:
    """A definition of one device that shows which one it is."""
    return host.define("a", directory, edits={"env": [f"REFIMPL_FROM={text}"]})


@case("CDI-030", "practice: the Go library", needs=[INJECT, TWO_DIRECTORIES])
def test_the_later_directory_wins(host: CdiHost) -> None:
    """What a driver writes while the machine runs goes before what was installed."""
    for directory, text in ((0, "first"), (1, "second")):
        name = _says(host, text, directory)
    host.open()
    texts = variables(host.inject(name))
    rule = "of a device in both directories the later one counts"
    expect(texts == ["REFIMPL_FROM=second"], rule, wanted="REFIMPL_FROM=second", got=texts)


@case("CDI-031", "practice: the Go library", needs=[LOAD, INJECT])
def test_a_device_defined_twice_in_one_directory_cannot_be_had(host: CdiHost) -> None:
    """Which one was meant nobody can know; all other devices are as they were."""
    files = [
        host.write(f"{name}.json", several(names, kind=host.kind))
        for name, names in (("x", "ab"), ("y", "ac"))
    ]
    host.open()
    loaded = host.load()
    wanted = {host.called("b"), host.called("c")}
    devices = {each for each in loaded.devices if each.startswith(host.kind)}
    rule = "a device with two definitions is not there, all others are"
    with together() as check:
        with check:
            expect(devices == wanted, rule, wanted=sorted(wanted), got=sorted(devices))
        silent = [path.name for path in files if not loaded.about(path)]
        with check:
            expect(
                not silent, "the error is told of both files", wanted="two", got=f"none of {silent}"
            )
        if host.can(REQUEST):
            refused = host.try_inject(host.called("a"))
            with check:
                expect(
                    refused.error, "it cannot be requested", wanted="an error", got=refused.config
                )
        host.inject(host.called("b"), host.called("c"))


@case("CDI-032", "practice: precedence", needs=[INJECT, STRICT, TWO_DIRECTORIES])
def test_the_later_directory_settles_a_conflict_in_the_earlier_one(host: CdiHost) -> None:
    """A definition that would win over either of two must not lose to both."""
    for name in ("x", "y"):
        host.write(f"{name}.json", several("a", kind=host.kind), 0)
    name = _says(host, "second", 1)
    host.open()
    texts = variables(host.inject(name))
    rule = "a definition in the later directory counts, whatever is in the earlier one"
    expect(texts == ["REFIMPL_FROM=second"], rule, wanted="REFIMPL_FROM=second", got=texts)


@case("CDI-033", "practice: directories", needs=[LOAD, DIRECTORIES])
def test_a_directory_that_cannot_be_read_keeps_no_other_from_being_read(host: CdiHost) -> None:
    """One mistake of an administrator must not take every device of the node away."""
    bad = {"missing": host.folder / "missing"}
    if host.settings.policy == "strict":
        bad |= {"a file": host.folder / "file", "a loop of links": host.folder / "loop"}
        bad["a file"].write_text("")
        bad["a loop of links"].symlink_to("loop")
        if os.geteuid():  # root reads it all the same
            bad["unreadable"] = host.directory("unreadable")
            bad["unreadable"].chmod(0)
    name = host.define()
    good = host.directories[-1]
    wrong = []
    for label, path in bad.items():
        for order in ((path, good), (good, path)):
            host.open(*order)
            if name not in host.load().devices:
                wrong.append(f"{label}, {'before' if order[0] == path else 'after'} it")
    if "unreadable" in bad:
        bad["unreadable"].chmod(0o700)  # or it could not be removed
    rule = "the other directories are searched"
    expect(not wrong, rule, wanted=f"{name} beside each", got=f"not there with: {wrong}")


@case("CDI-034", "practice: the Go library", needs=[LOAD])
def test_files_of_other_names_and_in_sub_directories_are_ignored(host: CdiHost) -> None:
    """Editors and writers keep half a file beside the whole one."""
    folder = host.directory("names")
    (folder / "inner").mkdir()
    names = ("a.yml", "b.JSON", "inner/c.json", ".d.json.swp", "e.json.tmp", "f", "g.json~")
    for letter, name in zip("abcdefg", names, strict=True):
        host.put(folder / name, document(name=letter))
    host.put(folder / "z.json", document(name="z"))
    host.open(folder)
    loaded = host.load()
    wanted = {"vendor.example/device=z"}
    rule = "only *.json and *.yaml right in the directory count"
    with together() as check:
        with check:
            expect(loaded.devices == wanted, rule, wanted=wanted, got=sorted(loaded.devices))
        with check:
            expect(
                not loaded.errors, "what is ignored is no error", wanted="none", got=loaded.errors
            )


@case("CDI-035", "CDI Error Handling", needs=[LOAD])
def test_a_corrupt_file_takes_no_other_one_along(host: CdiHost) -> None:
    """A vendor's mistake concerns that vendor's devices."""
    corrupt: Content = '{"cdiVersion": "1.1.0", "kind": '
    for number in range(10):
        name = f"d{number}"
        sound = document(kind=host.kind, name=name)
        host.write(f"{name}.json", corrupt if number == 4 else sound)
    host.open()
    loaded = host.load()
    wanted = {host.called(f"d{number}") for number in range(10) if number != 4}
    devices = {each for each in loaded.devices if each.startswith(host.kind)}
    with together() as check:
        with check:
            expect(
                devices == wanted,
                "the other files load",
                wanted=sorted(wanted),
                got=sorted(devices),
            )
        path = host.path("d4.json")
        with check:
            expect(
                loaded.about(path), "the corrupt file has an error", wanted=path, got=loaded.errors
            )


@case("CDI-039", "practice: large nodes", needs=[LOAD])
def test_many_files_with_many_devices_load_whole(host: CdiHost) -> None:
    """A node with many devices in many slices is no reason to lose some; 1000 files of 100 devices
    with --heavy.
    """
    files, devices = _LARGE if host.target.resolved.heavy else _SMALL
    folder = host.directory("many")
    before = host.target.implementation.resident()
    for number in range(files):
        whole = document(kind=f"vendor{number}.example/device")
        inner = [
            {"name": f"d{index}", "containerEdits": {"env": [f"A{index}=b"]}}
            for index in range(devices)
        ]
        # Written plainly: these files are no use in a report.
        _plain(folder / f"f{number}.json", {**whole, "devices": inner})
    host.open(folder)
    loaded = host.load()
    rule = f"all devices of {files} files are there within {timeout(_LOAD_S):g} s, without error"
    counts = (len(loaded.devices), len(loaded.errors))
    with together() as check:
        with check:
            expect(counts == (files * devices, 0), rule, wanted=(files * devices, 0), got=counts)
        grown = host.target.implementation.resident() - before
        bound = 64 * 2**20 + files * devices * _DEVICE_BYTES
        rule = f"a device takes {_DEVICE_BYTES} bytes of memory at most"
        with check:
            expect(grown < bound, rule, wanted=f"below {bound} bytes", got=grown)


def _plain(path: Path, content: Content) -> None:
    from conformance.cdi.host import encoded

    path.write_bytes(encoded(content))
