"""What a user has to say of a driver, said of our fake by its own settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from conformance.csi.settings import SECRET_KEYS, CsiSettings
from conformance.engine.targets.hooks import Hooks

if TYPE_CHECKING:
    from refimpl.csi.fake import FakeDriver

# Two values each of the keys our fake knows (refimpl/csi/state/settings.py, `mutable`).
_MUTABLE = {"iops": ("100", "200"), "tier": ("gold", "silver")}


def of_fake(fake: FakeDriver, chosen: CsiSettings) -> CsiSettings:
    """The settings with everything filled in that the user left open and the fake can tell."""
    facts: dict[str, Any] = {
        "volume_id": next(iter(fake.settings.preprovisioned), ""),
        "ephemeral": fake.settings.ephemeral,
        "attach_limit": True,
        "other_parameters": _other_pool(fake),
        "mutable_parameters": _mutable(fake, 0),
        "other_mutable_parameters": _mutable(fake, 1),
        "backing_dir": _backing(fake),
        "secrets": {SECRET_KEYS[rpc]: dict(own) for rpc, own in fake.settings.secrets.items()},
    }
    missing = {name: value for name, value in facts.items() if not getattr(chosen, name)}
    modes = sorted(mode.name for mode in fake.settings.modes)
    if chosen.access_mode not in modes:
        missing["access_mode"] = modes[0]
    return msgspec.structs.replace(chosen, **missing)


def hooks(fake: FakeDriver) -> Hooks:
    """The hooks of a target file as methods of the fake; its first node is the one looked at."""
    return Hooks(
        {
            "break_volume": fake.break_volume,
            "repair_volume": fake.repair_volume,
            "break_volume_on_node": lambda volume_id, status, reason, **_: fake.break_volume(
                volume_id, status, reason, node=0
            ),
            "repair_volume_on_node": lambda volume_id, reason, **_: fake.repair_volume(
                volume_id, reason, node=0
            ),
            "hold_volume": fake.hold_volume,
            "release_volume": fake.release_volume,
            "break_storage": fake.break_storage,
            "repair_storage": lambda reason, **_: fake.repair_storage(reason),
            "break_dependency": fake.break_dependency,
            "repair_dependency": fake.repair_dependency,
        }
    )


def _other_pool(fake: FakeDriver) -> Mapping[str, str]:
    names = list(fake.settings.pools)
    return {fake.settings.pool_parameter: names[1]} if len(names) > 1 else {}


def _mutable(fake: FakeDriver, choice: int) -> Mapping[str, str]:
    return {key: _MUTABLE[key][choice] for key in fake.settings.mutable if key in _MUTABLE}


def _backing(fake: FakeDriver) -> str:
    layout = getattr(fake.storage, "layout", None)  # a storage in memory has none
    return str(layout.root) if layout else ""
