"""The networks of a folder against each other."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.rule import about_folders
from refimpl.cni.lint.subject import Folder, Network, Source

SAME_DIGITS = "write the numbers with the same count of digits"


@about_folders("CNI-CFG-001", "every loader lists the folder first")
def unreadable(folder: Folder) -> Iterator[Hit]:
    """A folder nobody can list has no networks."""
    if folder.defect:
        yield Hit((), folder.defect, "make the folder readable", source=Source(folder.path))


@about_folders("CNI-CFG-004", "CNI 1.1, configuration format: a name is unique on its host")
def same_name(folder: Folder) -> Iterator[Hit]:
    """CRI-O keeps the first, nerdctl the last, a search by name depends on the extension."""
    first: dict[str, Network] = {}
    for network in folder.networks:
        earlier = first.setdefault(network.name, network) if network.name else network
        if earlier is not network:
            other = earlier.source.path.name
            message = f'network "{network.name[:60]}" is also described by {other}'
            fix = "rename one: CRI-O uses the first file, nerdctl the last"
            yield Hit(("name",), message, fix, Severity.WARNING, network.source)


@about_folders("CNI-CFG-035", "practice: the first file by the bytes of its name is the default")
def cut_off(folder: Folder) -> Iterator[Hit]:
    """containerd reads as many files as max_conf_num says, which is one."""
    for network in folder.networks[1:]:
        first = folder.networks[0].source.path.name
        message = f"comes after {first}: containerd does not read it unless max_conf_num is raised"
        fix = f"nothing, if {first} is the default you want; else rename it"
        yield Hit((), message, fix, Severity.INFO, network.source)


@about_folders("CNI-CFG-035", "practice: the first file by the bytes of its name is the default")
def odd_default(folder: Folder) -> Iterator[Hit]:
    """A first file that nobody would choose."""
    if len(folder.networks) < 2:
        return
    first = folder.networks[0]
    if first.plugins and all(plugin.type == "loopback" for plugin in first.plugins):
        message = "the first network, and so the default, has a loopback interface only"
        yield Hit((), message, "give it a later name", Severity.WARNING, first.source)
    numbers = [_number(network.source.path.name) for network in folder.networks]
    lowest = min((number for number in numbers if number >= 0), default=-1)
    if numbers[0] > lowest >= 0:
        message = f"comes first although another file is numbered {lowest}: names sort as text"
        yield Hit((), message, SAME_DIGITS, Severity.WARNING, first.source)


def out_of_order(names: Sequence[str]) -> tuple[str, str] | None:
    """The first two of sorted file names of which the number of the earlier one is greater."""
    numbered = [name for name in names if _number(name) >= 0]
    pairs = itertools.pairwise(numbered)
    return next(((one, two) for one, two in pairs if _number(one) > _number(two)), None)


def _number(name: str) -> int:
    digits = re.match(r"[0-9]{1,9}", name)
    return int(digits.group()) if digits else -1
