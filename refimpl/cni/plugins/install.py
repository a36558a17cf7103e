"""Making a fake plugin: one executable file, and its settings beside it."""

from __future__ import annotations

import base64
import functools
import marshal
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .codec import dumps, parse_object
from .entry import KINDS
from .errors import VERSIONS
from .knobs import KNOBS

__all__ = ["PluginError", "configure", "install", "settings_of"]

_LOADER = """\
# A fake CNI plugin, made by refimpl for {tag}: modules that were compiled before, so that a start
# costs little. What it does is in the file {{this}}.settings.json.
import sys
if sys.implementation.cache_tag != {tag!r}:
    sys.exit("made for {tag}, run by " + sys.implementation.cache_tag + "; install it again")
import marshal
from binascii import a2b_base64
from _frozen_importlib import ModuleSpec
class Modules:
    def find_spec(self, name, path=None, target=None):
        if name in CODE:
            return ModuleSpec(name, self, is_package=name == "plugins")
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(marshal.loads(a2b_base64(CODE[module.__name__])), module.__dict__)
CODE = {{
{code}
}}
sys.meta_path.insert(0, Modules())
from plugins.process import run
run()
"""


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
    here = Path(__file__).parent
    code = ['"plugins": b"' + _compiled("plugins", "") + '",']
    for module in sorted(here.glob("*.py")):
        if module.name not in ("__init__.py", "install.py", "knobs.py"):
            name = f"plugins.{module.stem}"
            code.append(f'"{name}": b"{_compiled(name, module.read_text())}",')
    text = _LOADER.format(tag=sys.implementation.cache_tag, code="\n".join(code))
    return f"#!{python} -IS\n{text}".encode()


def _compiled(name: str, source: str) -> str:
    code = compile(source, f"<{name}>", "exec", optimize=2, dont_inherit=True)
    return base64.b64encode(marshal.dumps(code)).decode()
