"""A host as a case has it: directories of CDI files, and the implementation that reads them."""

from __future__ import annotations

import copy
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from conformance.cdi.documents import OCI, document
from conformance.engine.ledger.entries import FILE, FOLDER
from conformance.engine.needs import Feature
from conformance.engine.scope import CaseScope
from conformance.engine.targets.lines import Message
from conformance.engine.verdict import Broken, expect
from refimpl.documents import yaml

if TYPE_CHECKING:
    from conformance.cdi.target import CdiTarget

Config = dict[str, Any]
Content = Mapping[str, Any] | str | bytes


@attrs.frozen
class Loaded:
    """The devices that can be requested, and texts on what is wrong by file or directory."""

    devices: frozenset[str]
    errors: dict[str, list[str]]

    def about(self, path: Path) -> str:
        """What is wrong with a file, "" if nothing."""
        return "; ".join(self.errors.get(str(path), ()))


@attrs.frozen
class Injected:
    """What came of an injection: `config` as it is afterwards, None where that is not told."""

    config: Config | None
    error: str = ""
    unresolved: tuple[str, ...] = ()

    def tells(self, name: str) -> bool:
        """Whether the failure names the device."""
        return name in self.unresolved or name in self.error


class CdiHost:
    """Two directories, the second one winning, and what one implementation makes of them.

    `kind` is this case's own, so that nothing meets the files of another one. All of it ends with
    the scope.
    """

    def __init__(self, target: CdiTarget, scope: CaseScope) -> None:
        self.target, self.settings, self.nodes = target, target.settings, target.nodes
        self.seed = target.resolved.seed
        run = target.resolved.run_id or "refimpl"
        self.kind = f"case{target.begin()}.{run}.example/device"
        self._scope, self._ledger = scope, target.ledger
        self.folder = self._ledger.folder("refimpl-cdi-")
        scope.callback(lambda: self._ledger.discard(self.folder, FOLDER))
        scope.callback(self.close)
        self._own = not target.directories
        self.directories = [Path(each) for each in target.directories]
        if self._own:
            self.directories = [self.directory("0"), self.directory("1")]
        self._opened: tuple[int, tuple[Path, ...], bool] | None = None

    # Files

    def path(self, name: str, directory: int = -1) -> Path:
        """Where a file of that name is in a directory, the winning one unless said otherwise."""
        if self._own:
            return self.directories[directory] / name
        return self.directories[directory] / f"{self.kind.partition('/')[0]}-{name}"

    def write(self, name: str, content: Content, directory: int = -1) -> Path:
        """A file with that document or text, there at once."""
        return self.put(self.path(name, directory), content)

    def put(self, path: Path, content: Content) -> Path:
        """The same at any path."""
        data = encoded(content)
        if self.folder not in path.parents:
            self._ledger.making(FILE, path)
            self._scope.callback(lambda: self._ledger.discard(path))
        beside = path.with_name(f".{path.name}.tmp")
        beside.write_bytes(data)
        beside.replace(path)
        self.target.wrote(path, data)
        return path

    def directory(self, name: str) -> Path:
        """A directory more, beside the two."""
        path = self.folder / name
        path.mkdir()
        return path

    def define(self, name: str = "a", directory: int = -1, **members: Any) -> str:
        """A sound file with one device of that name; its qualified name.

        members: those of `document`."""
        self.write(f"{name}.json", document(kind=self.kind, name=name, **members), directory)
        return self.called(name)

    def called(self, name: str) -> str:
        """The qualified name of a device of this case's kind."""
        return f"{self.kind}={name}"

    # What the implementation says

    def open(self, *directories: Path, watched: bool = False) -> None:
        """A new cache of these directories, instead of one that was open."""
        self.close()
        number = self.target.next_cache()
        self._opened = (number, directories or tuple(self.directories), watched)
        names = [str(each) for each in self._opened[1]]
        reply = self._ask("open", directories=names, watched=watched)
        expect("error" not in reply, "a cache can be opened", wanted="no error", got=reply)

    def load(self) -> Loaded:
        """What there is now. Raises Broken where that is not told."""
        reply = self._ask("load")
        expect("error" not in reply, "what is loaded is told", wanted="devices", got=reply)
        return Loaded(frozenset(reply["devices"]), reply["errors"])

    def refusal(self, content: Content, name: str = "a.json") -> str:
        """Why a document is refused, "" where it is taken. Raises Broken where it is neither.

        It lies in a directory of its own, and whatever it defines must come with no error, or the
        other way round.
        """
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        path = self.put(folder / name, content)
        self.open(folder)
        try:
            loaded = self.load()
        finally:
            self.close()
            shutil.rmtree(folder, ignore_errors=True)
        why = loaded.about(path)
        if why and loaded.devices:
            raise Broken("a refused file has no devices", "no device", str(loaded))
        return why or ("" if loaded.devices else "it defines no device, and no error says why")

    def try_inject(self, *names: str, config: Config | None = None) -> Injected:
        """Injects, and tells what came of it."""
        given = copy.deepcopy(OCI if config is None else config)
        return _injected(self._ask("inject", config=given, devices=list(names)))

    def inject(self, *names: str, config: Config | None = None) -> Config:
        """The config with the devices; raises Broken where that is refused."""
        injected = self.try_inject(*names, config=config)
        if injected.error or injected.config is None:
            raise Broken("these devices can be injected", "a config", injected.error)
        return injected.config

    def create(self, *names: str, annotations: Mapping[str, str] | None = None) -> Injected:
        """A container with devices requested by field and by annotations."""
        given = copy.deepcopy(OCI)
        request = {"config": given, "devices": list(names), "annotations": dict(annotations or {})}
        return _injected(self._ask("create", **request))

    def ask(self, act: str, **request: Any) -> Message:
        """An act that no cache is needed for."""
        return self.target.ask(act, request)

    def close(self) -> None:
        """Ends the open cache."""
        if self._opened is not None:
            self._ask("close")
            self._opened = None

    def can(self, need: Feature) -> bool:
        """Whether the implementation has a feature that not all of a case needs."""
        return need.unmet(self.target) is None

    def rendered(self, content: Mapping[str, Any]) -> Any:
        """The document in the file that the implementation writes of one; raises Broken."""
        path = Path(tempfile.mkdtemp(dir=self.folder)) / "written.yaml"
        reply = self.ask("write", document=dict(content), path=str(path))
        expect("error" not in reply, "a sound document can be written", wanted="a file", got=reply)
        return yaml.parse(path.read_bytes(), name=str(path)).value

    def _ask(self, act: str, **request: Any) -> Message:
        if self._opened is None:
            self.open()
        assert self._opened is not None
        return self.target.ask(act, {"cache": self._opened[0], **request})


def encoded(content: Content) -> bytes:
    """The bytes of a file: a document as JSON, text as UTF-8."""
    if isinstance(content, bytes):
        return content
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return os.fsencode(text)


def _injected(reply: Message) -> Injected:
    return Injected(
        reply.get("config"), str(reply.get("error", "")), tuple(reply.get("unresolved") or ())
    )
