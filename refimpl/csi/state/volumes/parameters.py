"""mutable_parameters: which keys and values a driver takes (CSI 1.13 ControllerModifyVolume)."""

from __future__ import annotations

from collections.abc import Mapping

from refimpl.csi.state import rules
from refimpl.csi.state.settings import DriverSettings


def check_mutable(settings: DriverSettings, parameters: Mapping[str, str]) -> None:
    """All keys known and all values fitting, or INVALID_ARGUMENT and nothing is applied."""
    if not settings.has("controller", "MODIFY_VOLUME"):
        raise rules.invalid(
            "mutable_parameters may be sent only to a driver with controller capability"
            " MODIFY_VOLUME; leave them out"
        )
    rules.string_map("mutable_parameters", parameters)
    for key, value in parameters.items():
        pattern = settings.mutable_patterns.get(key)
        if pattern is None:
            known = ", ".join(settings.mutable_patterns) or "none"
            raise rules.invalid(
                f"mutable_parameters has the key {rules.quoted(key)}; this driver knows {known}"
            )
        if not pattern.fullmatch(value):
            raise rules.invalid(
                f"mutable parameter {rules.quoted(key)} is {rules.quoted(value)}; a value that"
                f" matches {pattern.pattern} is needed"
            )
