"""Opens a device plugin as a target: our fake kubelet around a command, or around our plugin."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.deviceplugin.plugin import Plugin
from conformance.deviceplugin.plugins.process import CommandProcess, illusory
from conformance.deviceplugin.plugins.target import PluginTarget
from conformance.engine import mutants
from conformance.engine.options import BadOption
from conformance.engine.resolve import ResolvedTarget
from refimpl.deviceplugin import illusion
from refimpl.deviceplugin.profiles import PROFILES
from refimpl.wire.journal import Journal

if TYPE_CHECKING:
    from conformance.deviceplugin.mutation import PluginMutant

__all__ = ["Plugin", "PluginTarget", "open_plugin"]

# Of no devices there is no CDI file either.
_NONE: dict[str, Any] = {"devices": 0, "cdi_dir": None}


def open_plugin(resolved: ResolvedTarget, journal: Journal) -> PluginTarget:
    """What is named: a command, `fake`, `fake:PERSONA`, `mutant:NAME`, `unbroken:NAME`.

    Raises BadOption.
    """
    return (_ours if resolved.ours else _commanded)(resolved, journal)


def _commanded(resolved: ResolvedTarget, journal: Journal) -> PluginTarget:
    command, chosen = resolved.command, resolved.settings
    if shutil.which(command[0]) is None:
        raise BadOption(f"{command[0]}: there is no such program")
    if illusory(command, chosen) and (reason := illusion.obstacle()):
        raise BadOption(
            f"{' '.join(command)}: it names none of {{kubelet}}, {{device-plugins}} and"
            f" {{registry}}, and its folder cannot be shown to it at {illusion.REAL}: {reason}"
        )
    empty = chosen.empty_command
    return PluginTarget(
        lambda place: CommandProcess(command, place, chosen),
        resolved,
        journal,
        name=_program(command),
        version=chosen.version,
        empty=(lambda place: CommandProcess(empty, place, chosen)) if empty else None,
    )


def _ours(resolved: ResolvedTarget, journal: Journal) -> PluginTarget:
    from conformance.deviceplugin.mutation import PluginMutant
    from conformance.deviceplugin.plugins.ours import NODES, OurProcess
    from refimpl.deviceplugin.plugin.personas import PERSONAS

    kind, name = resolved.scheme, resolved.address
    mutant = mutants.load("deviceplugin", name) if kind != "fake" else None
    shape = mutant if isinstance(mutant, PluginMutant) else None
    choices: dict[str, Any] = dict(shape.choices) if shape else {}
    if kind == "fake" and name and name not in PROFILES:
        if name not in PERSONAS:
            raise BadOption(f"fake:{name}: there is fake:{', fake:'.join([*PERSONAS, *PROFILES])}")
        choices["persona"] = name
    broken: PluginMutant | None = shape if kind == "mutant" else None
    stack = ExitStack()
    stack.enter_context(mutants.standing(broken))
    return PluginTarget(
        lambda place: OurProcess(place, choices, broken),
        resolved,
        journal,
        name="refimpl plugin",
        version=version("kube-refimpl"),
        empty=lambda place: OurProcess(place, {**choices, **_NONE}, broken),
        ours=True,
        nodes=NODES,
        most_s=3.0,
        quiet_s=0.1,
        stack=stack,
    )


def _program(command: Sequence[str]) -> str:
    """The name of what is run: behind `env A=B` as well."""
    words = [word for word in command if "=" not in word]
    return Path(next((word for word in words if Path(word).name != "env"), words[0])).name
