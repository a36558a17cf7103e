"""What is linted: files, the networks and plugins in them, folders of them. Reads, judges not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from refimpl.cni.config import shape
from refimpl.cni.config.folder import LISTS, SINGLES, extension
from refimpl.cni.contract import VERSIONS, version_key
from refimpl.documents import Document, DocumentError, Pointer
from refimpl.documents import json as documents

# A configuration has a few kilobytes; this keeps a log or an image from being read.
LARGEST = 16 * 1024 * 1024
TOO_LARGE = (1, 1, "the file is larger than 16 MiB", "no network needs that: shorten it")


@attrs.frozen
class Source:
    """A file: its document, or the defect that kept it from being one (line, column, what, fix)."""

    path: Path
    document: Document | None = attrs.field(default=None, repr=False)
    defect: tuple[int, int, str, str] | None = None
    status: os.stat_result | None = attrs.field(default=None, repr=False)

    @property
    def value(self) -> Any:
        """The decoded document, None where there is none."""
        return self.document.value if self.document else None

    def place(self, pointer: Pointer, at_name: bool = False) -> tuple[int, int]:
        """(line, column) of a member; (1, 1) of a file that is no document."""
        if self.document is None:
            return 1, 1
        return (self.document.key_position if at_name else self.document.position)(pointer)


@attrs.frozen
class Plugin:
    """A plugin object and where it stands."""

    source: Source
    pointer: Pointer
    value: dict[str, Any]

    @property
    def type(self) -> str:
        """The plugin's type, "" where it has no usable one."""
        return text(self.value.get("type"))

    @property
    def ipam(self) -> dict[str, Any]:
        """The ipam object, empty where there is none."""
        value = self.value.get("ipam")
        return value if isinstance(value, dict) else {}

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities object, empty where there is none."""
        value = self.value.get("capabilities")
        return value if isinstance(value, dict) else {}


@attrs.frozen(slots=False)
class Network:
    """A network document. `subdirectory` holds what lies in the folder named like it."""

    source: Source
    subdirectory: Subdirectory | None = None

    @property
    def value(self) -> dict[str, Any]:
        """The document, empty where it is no object."""
        return self.source.value if isinstance(self.source.value, dict) else {}

    @property
    def single(self) -> bool:
        """Whether it is a single plugin's document, or one in all but its type."""
        value = self.source.value
        untyped = isinstance(value, dict) and "plugins" not in value and "type" not in value
        named = extension(self.source.path.name) in SINGLES
        return shape.is_single(value) or (untyped and named)

    @property
    def name(self) -> str:
        """The name, "" where it has no usable one."""
        return text(self.value.get("name"))

    @property
    def merges(self) -> bool:
        """Whether plugins of the sub-directory are appended."""
        return not self.single and self.value.get("loadOnlyInlinedPlugins") is not True

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """The well-formed versions that the document offers; 0.1.0 where it says none."""
        offered = self.value.get("cniVersions", [])
        offered = list(offered) if isinstance(offered, list) else []
        offered.append(self.value.get("cniVersion", "" if offered else VERSIONS[0]))
        return tuple(version for version in offered if version and shape.is_version(version))

    @property
    def version(self) -> str:
        """The version a runtime that knows all of ours would choose, "" for none."""
        known = [version for version in self.versions if version in VERSIONS]
        return max(known, key=version_key, default="")

    @cached_property
    def inlined(self) -> tuple[Plugin, ...]:
        """The plugin objects of the document itself."""
        if self.single:
            return (Plugin(self.source, (), self.value),)
        listed = self.value.get("plugins")
        return tuple(
            Plugin(self.source, ("plugins", index), value)
            for index, value in enumerate(listed if isinstance(listed, list) else ())
            if isinstance(value, dict)
        )

    @cached_property
    def plugins(self) -> tuple[Plugin, ...]:
        """Every plugin in the order of ADD, those of the sub-directory last."""
        if not self.merges or self.subdirectory is None:
            return self.inlined
        more = self.subdirectory.sources
        return self.inlined + tuple(
            Plugin(source, (), source.value) for source in more if isinstance(source.value, dict)
        )


@attrs.frozen
class Subdirectory:
    """`<folder>/<network name>`: its plugin documents and everything else in it."""

    path: Path
    sources: tuple[Source, ...] = ()
    others: tuple[Path, ...] = ()
    status: os.stat_result | None = attrs.field(default=None, repr=False)
    defect: str = ""


@attrs.frozen
class Folder:
    """A configuration folder, `networks` in the order of their file names' bytes.

    `strays`: what lies there and is no configuration; `alone`: one file was asked for, not all.
    """

    path: Path
    networks: tuple[Network, ...] = ()
    strays: tuple[Path, ...] = ()
    status: os.stat_result | None = attrs.field(default=None, repr=False)
    defect: str = ""
    alone: bool = False


def text(value: Any) -> str:
    """The value where it is a string, else ""."""
    return value if isinstance(value, str) else ""


def read_folder(path: Path) -> Folder:
    """The folder with all its networks. Never raises: what fails is a defect of its part."""
    try:
        names = sorted(os.listdir(path), key=os.fsencode)
        status = os.stat(path)
    except (OSError, ValueError) as error:
        return Folder(path, defect=reason(error))
    files = [path / name for name in names if extension(name) in (*LISTS, *SINGLES)]
    files = [file for file in files if not _is_directory(file)]
    networks = tuple(read_network(file) for file in files)
    used = {network.subdirectory.path for network in networks if network.subdirectory}
    known = used.union(files)
    strays = tuple(path / name for name in names if path / name not in known)
    return Folder(path, networks, strays, status)


def read_network(path: Path) -> Network:
    """The network of one file, and its sub-directory where it has one."""
    network = Network(read_source(path))
    if not network.single and shape.NAME.fullmatch(network.name):
        # A name that passes cannot lead out of the folder.
        return attrs.evolve(network, subdirectory=_subdirectory(path.parent / network.name))
    return network


def read_source(path: Path) -> Source:
    """The document of one file."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            # Opening a pipe would wait for its other end.
            return Source(path, defect=(1, 1, "this is no regular file", "put a file there"))
        if status.st_size > LARGEST:
            return Source(path, None, TOO_LARGE, status)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        return Source(path, defect=(1, 1, reason(error), "make the file readable or remove it"))
    return source_of(data, path, status)


def source_of(data: bytes, path: Path, status: os.stat_result | None = None) -> Source:
    """The document that these bytes are."""
    try:
        return Source(path, documents.parse(data), None, status)
    except DocumentError as error:
        return Source(path, None, (error.line, error.column, error.what, error.hint), status)


def reason(error: OSError | ValueError) -> str:
    """Why a file could not be read."""
    return f"it cannot be read: {getattr(error, 'strerror', None) or error}"


def _subdirectory(path: Path) -> Subdirectory | None:
    if not _is_directory(path, follow=True):
        return None
    try:
        names = sorted(os.listdir(path), key=os.fsencode)
        status = os.stat(path)
    except (OSError, ValueError) as error:
        return Subdirectory(path, defect=reason(error))
    named = [path / name for name in names if extension(name) == ".conf"]
    plugins = [file for file in named if not _is_directory(file)]
    taken = set(plugins)
    others = tuple(path / name for name in names if path / name not in taken)
    return Subdirectory(path, tuple(read_source(file) for file in plugins), others, status)


def _is_directory(path: Path, *, follow: bool = False) -> bool:
    """Like the loaders, a link to a directory does not count as one."""
    try:
        return stat.S_ISDIR(os.stat(path, follow_symlinks=follow).st_mode)
    except (OSError, ValueError):
        return False


def all_sources(network: Network) -> Iterator[Source]:
    """Every document that takes part in the network."""
    yield network.source
    if network.subdirectory is not None and network.merges:
        yield from network.subdirectory.sources
