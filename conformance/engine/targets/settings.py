"""What a user says of a target: the table of a target file, with the command's options on top."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import yaml

from conformance.engine.interface import Interface, Option, load
from conformance.engine.interfaces import INTERFACES
from conformance.engine.options import BadOption
from refimpl import files

__all__ = ["read", "seconds"]

_SHAPES: dict[str, tuple[Any, str]] = {
    "map": (dict[str, str], "a map of text"),
    "maps": (dict[str, dict[str, str]], "one map of text for each kind of call"),
}


def read(interface: Interface, table: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    """The settings of a target: an object of the interface's settings class.

    table: of a target file; a text where a map belongs names a YAML file. options: flag to value,
    of the command line. Raises BadOption naming the option or the key that cannot be used.
    """
    chosen = dict(table)
    for option in interface.options:
        if option.reads in _SHAPES and isinstance(chosen.get(option.field), str):
            chosen[option.field] = _file(option.field, chosen[option.field], option.reads)
    known = {option.flag: option for option in interface.options}
    for flag, value in options.items():
        if flag not in known:
            raise BadOption(_foreign(flag, interface))
        chosen[known[flag].field] = _value(known[flag], value)
    try:
        return msgspec.convert(chosen, load(interface.settings))
    except msgspec.ValidationError as error:
        raise BadOption(f"settings of {interface.name}: {error}") from error


def _foreign(flag: str, interface: Interface) -> str:
    owners = [
        each.name for each in INTERFACES.values() if flag in {one.flag for one in each.options}
    ]
    if not owners:
        return f"--{flag}: there is no such option"
    return f"--{flag}: an option of {', '.join(owners)}, not of {interface.name}"


def _value(option: Option, value: Any) -> Any:
    if option.reads == "duration":
        return seconds(f"--{option.flag}", value)
    return _file(f"--{option.flag}", value, option.reads) if option.reads else value


def _file(name: str, path: str, shape: str) -> Any:
    kind, words = _SHAPES[shape]
    try:
        # All is text here, as for csi-sanity: a number, or a word such as `yes`.
        return msgspec.convert(yaml.load(files.read(path).decode(), yaml.BaseLoader) or {}, kind)
    except OSError as error:
        raise BadOption(f"{name} {path}: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        # Not the text of the error: it quotes the file, which may hold secrets.
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BadOption(f"{name} {path}: not YAML{line}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadOption(f"{name} {path}: not YAML ({type(error).__name__})") from None
    except msgspec.ValidationError as error:
        raise BadOption(f"{name} {path}: has to be {words}: {error}") from error


def seconds(name: str, value: str) -> float:
    """A Go duration such as `10s`, `1m30s` or `500ms` in seconds, as csi-sanity takes them."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", value)
    if not parts or "".join(number + unit for number, unit in parts) != value:
        raise BadOption(f"{name} {value}: write a duration such as 10s or 1m30s")
    return sum(float(number) * units[unit] for number, unit in parts)
