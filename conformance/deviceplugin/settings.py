"""What a user says of a device target: the `--dp-` options, the [deviceplugin] table of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from conformance.engine.options import BadOption


class DpSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Everything of a target that its command does not tell."""


# The command line's name -> the field here.
_OPTIONS: dict[str, str] = {}


def settings(table: Mapping[str, Any], options: Mapping[str, Any]) -> DpSettings:
    """The settings of a target file's table, the command line's on top; raises BadOption."""
    given = {_OPTIONS[name]: value for name, value in options.items() if name in _OPTIONS}
    try:
        return msgspec.convert({**table, **given}, DpSettings)
    except msgspec.ValidationError as error:
        raise BadOption(f"deviceplugin settings: {error}") from error
