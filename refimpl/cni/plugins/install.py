"""Making a fake plugin: one executable file, and its settings beside it."""

from __future__ import annotations

import base64
import functools
import marshal
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from refimpl.cni.format.versions import VERSIONS
from refimpl.cni.plugins.breaches.knobs import KNOBS
from refimpl.cni.plugins.entry import KINDS
from refimpl.cni.plugins.json import dumps, parse_object

__all__ = ["PluginError", "configure", "install", "settings_of"]

_LOADER = """\
# A fake CNI plugin, made by refimpl for {tag}: below are modules that were compiled before, so that
# a start costs little. What it does is in the file {{this}}.settings.json.
import sys
if sys.implementation.cache_tag != {tag!r}:
    sys.exit("made for {tag}, run by " + sys.implementation.cache_tag + "; install it again")
import marshal
from binascii import a2b_base64
from _frozen_importlib import ModuleSpec
class Modules:
    def __init__(self, lines):
        self.code = dict(line[1:].split(b" ") for line in lines if line[:5] == b"#refi")
    def find_spec(self, name, path=None, target=None):
        if name.encode() in self.code:
            return ModuleSpec(name, self, is_package=name in {packages!r})
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        code = self.code[module.__name__.encode()]
        exec(marshal.loads(a2b_base64(code)), module.__dict__)
with open(sys.argv[0], "rb") as file:
    sys.meta_path.insert(0, Modules(file))
from refimpl.cni.plugins.process import run
run()
"""

_PACKAGES = (
    "refimpl",
    "refimpl.cni",
    "refimpl.cni.format",
    "refimpl.cni.plugins",
    "refimpl.cni.plugins.kinds",
    "refimpl.cni.plugins.breaches",
)
_LEFT_OUT = ("__init__", "install", "knobs")


class PluginError(ValueError):
    """A plugin that cannot be made or set up as asked: what was given, and what there is."""


def install(folder: str | os.PathLike[str], name: str, kind: str, **settings: Any) -> Path:
    """Makes the executable `folder`/`name`, a plugin of one of `KINDS`, and returns its path.

    Settings, all optional: `versions` (those it speaks), `kernel` (the simulated kernel's file,
    `folder`/kernel.json otherwise), `journal` (see `journal.records`; a recorder has
    `folder`/`name`.journal.jsonl otherwise), `faults` (see `knobs.KNOBS`), `lenient` (a chained
    plugin takes the member names that Go gives), and for the recorder `answers`, `target`, `role`.
    They go to `name`.settings.json (0600), read at every call. Raises PluginError, OSError.
    """
    folder = Path(folder).absolute()
    if kind not in KINDS:
        raise PluginError(f"there is no kind {kind!r}; take one of {', '.join(KINDS)}")
    if not name or "/" in name or name in (".", ".."):
        raise PluginError(f"{name!r} is no name for a plugin; it has to be a file's name")
    plugin = folder / name
    defaults: dict[str, Any] = {"kernel": folder / "kernel.json"}
    if kind == "recorder":
        defaults["journal"] = folder / f"{name}.journal.jsonl"
    counts = folder / f"{name}.counts.json"
    _write_settings(plugin, {"kind": kind, "name": name, "counts": counts, **defaults, **settings})
    counts.unlink(missing_ok=True)
    _replace(plugin, _program(), 0o755)
    return plugin


def settings_of(plugin: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings of an installed plugin. Raises OSError."""
    return parse_object(_settings_path(plugin).read_bytes())


def configure(plugin: str | os.PathLike[str], **changes: Any) -> None:
    """Changes settings of an installed plugin, from its next call on; None takes one away. Where
    `faults` or `answers` are given, their counts begin anew. Raises PluginError, OSError."""
    settings = {**settings_of(plugin), **changes}
    _write_settings(plugin, {key: item for key, item in settings.items() if item is not None})
    if {"faults", "answers"} & set(changes):
        Path(settings["counts"]).unlink(missing_ok=True)


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raises PluginError for faults and versions that mean nothing to a plugin."""
    for rule in settings.get("faults") or ():
        if rule.get("do") not in KNOBS:
            raise PluginError(
                f"fault {rule!r}: there is no knob {rule.get('do')!r}; the list is "
                "refimpl.cni.plugins.KNOBS"
            )
        if rule.get("verb", "*") not in ("*", "ADD", "DEL", "CHECK", "STATUS", "GC", "VERSION"):
            raise PluginError(f"fault {rule!r}: {rule['verb']!r} is no verb")
    versions = settings.get("versions")
    if versions is not None and (not versions or set(versions) - set(VERSIONS)):
        raise PluginError(f"versions {versions!r}: take some of {', '.join(VERSIONS)}")


def _settings_path(plugin: str | os.PathLike[str]) -> Path:
    return Path(f"{os.fspath(plugin)}.settings.json")


def _write_settings(plugin: str | os.PathLike[str], settings: dict[str, Any]) -> None:
    check_settings(settings)
    _replace(_settings_path(plugin), dumps(_plain(settings)) + b"\n", 0o600)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Another process sees the old file or the new one, and never runs one that is being
    written."""
    new = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with open(file, "wb") as out:
        os.fchmod(file, mode)
        out.write(data)
    new.replace(path)


@functools.cache
def _program() -> bytes:
    python = getattr(sys, "_base_executable", "") or sys.executable
    if any(c.isspace() for c in python) or len(python) > 120:
        raise PluginError(f"{python} cannot stand in a #! line: white space, or too long")
    code = {**dict.fromkeys(_PACKAGES, ""), **{n: path.read_text() for n, path in _modules()}}
    text = _LOADER.format(tag=sys.implementation.cache_tag, packages=_PACKAGES)
    lines = [f"#{name} {_compiled(name, source)}" for name, source in code.items()]
    return "\n".join([f"#!{python} -IS", f"{text}{lines[0]}", *lines[1:], ""]).encode()


def _modules() -> Iterator[tuple[str, Path]]:
    """Name and file of every module that a plugin is made of."""
    above = Path(__file__).parents[3]
    for package in _PACKAGES[2:]:
        for path in sorted((above / package.replace(".", "/")).glob("*.py")):
            if path.stem not in _LEFT_OUT:
                yield f"{package}.{path.stem}", path


def _compiled(name: str, source: str) -> str:
    code = compile(source, f"<{name}>", "exec", optimize=2, dont_inherit=True)
    return base64.b64encode(marshal.dumps(code)).decode()
