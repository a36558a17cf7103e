"""The tables of rules. A rule is one function; a decorator says which row it is and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

import attrs

from refimpl.cni.lint.finding import Hit
from refimpl.cni.lint.subject import Folder, Network

Subject = TypeVar("Subject")
Find = Callable[[Subject], Iterable[Hit]]


class Unanswered(Exception):
    """Raised by a `versions_of`: the plugin told no versions; the text says why."""


@attrs.frozen
class Installed:
    """A network against the plugins of this machine: where they lie, how to ask for versions."""

    network: Network
    folders: tuple[Path, ...] = ()
    versions_of: Callable[[Path], list[str]] | None = None


@attrs.frozen
class Rule(Generic[Subject]):
    """`id`: the row of the catalogue, `source`: what it is read from, `find`: the function."""

    id: str
    source: str
    find: Find[Subject]


ABOUT_NETWORKS: list[Rule[Network]] = []
ABOUT_FOLDERS: list[Rule[Folder]] = []
ABOUT_INSTALLED: list[Rule[Installed]] = []


def about_networks(id: str, source: str) -> Callable[[Find[Network]], Find[Network]]:
    """A rule on one network document with its plugins."""
    return _adding(ABOUT_NETWORKS, id, source)


def about_folders(id: str, source: str) -> Callable[[Find[Folder]], Find[Folder]]:
    """A rule on a folder as a whole."""
    return _adding(ABOUT_FOLDERS, id, source)


def about_installed(id: str, source: str) -> Callable[[Find[Installed]], Find[Installed]]:
    """A rule on a network and the plugins installed."""
    return _adding(ABOUT_INSTALLED, id, source)


def _adding(
    table: list[Rule[Subject]], row: str, source: str
) -> Callable[[Find[Subject]], Find[Subject]]:
    def add(find: Find[Subject]) -> Find[Subject]:
        table.append(Rule(row, source, find))
        return find

    return add
