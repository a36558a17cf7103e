"""Opens a device plugin as a target: our fake kubelet around a command, or around our plugin."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from conformance.deviceplugin.plugins.process import CommandProcess, Maker, PluginPlace, illusory
from conformance.deviceplugin.plugins.sessions import PluginSetup
from conformance.deviceplugin.plugins.target import PluginTarget
from conformance.deviceplugin.settings import DeviceHook, DpSettings
from conformance.engine import mutants
from conformance.engine.interface import COMMAND
from conformance.engine.options import BadOption
from conformance.engine.targets import placeholders
from conformance.engine.targets.hooks import Hooks
from conformance.engine.targets.resolve import ResolvedTarget
from refimpl.deviceplugin import illusion
from refimpl.deviceplugin.profiles import PROFILES, RELEASES
from refimpl.wire.journal import Journal

if TYPE_CHECKING:
    from conformance.deviceplugin.mutation import PluginMutant

__all__ = ["open_plugin"]

# Of no devices there is no CDI file either.
_NONE: dict[str, Any] = {"devices": 0, "cdi_dir": None}


def open_plugin(resolved: ResolvedTarget, journal: Journal) -> PluginTarget:
    """What is named: a command, `fake`, `fake:PERSONA`, `mutant:NAME`, `unbroken:NAME`.

    Raises BadOption.
    """
    return (_ours if resolved.ours else _commanded)(resolved, journal)


# -- a command ------------------------------------------------------------------------------------


def _commanded(resolved: ResolvedTarget, journal: Journal) -> PluginTarget:
    command: Sequence[str] = resolved.command
    settings: DpSettings = resolved.settings
    _check(settings, resolved.interface.targets[COMMAND].placeholders)
    if shutil.which(command[0]) is None:
        raise BadOption(f"{command[0]}: there is no such program")
    hidden = illusory(command, settings)
    if hidden and (reason := illusion.obstacle()):
        raise BadOption(
            f"{' '.join(command)}: it names none of {{kubelet}}, {{device-plugins}} and"
            f" {{registry}}, and its folder cannot be shown to it at {illusion.REAL}: {reason}"
        )
    empty = settings.empty_command
    setup = PluginSetup(
        make=lambda place: CommandProcess(command, place, settings),
        empty=(lambda place: CommandProcess(empty, place, settings)) if empty else None,
        release=_release(resolved),
        resource=settings.resource,
        hidden=hidden,
        hooks=Hooks(settings.hooks),
        numa_nodes=frozenset(settings.numa_nodes or _nodes_here()),
        quiet_s=settings.quiet_s or 2.0,
        cdi_dirs=_cdi_dirs(command, settings),
    )
    return PluginTarget(setup, resolved, journal, name=_program(command), version=settings.version)


def _check(settings: DpSettings, allowed: Sequence[str]) -> None:
    """Raises BadOption for a placeholder of a setting that there is not."""
    for words in (settings.empty_command, [*settings.env.values()], settings.cdi_dirs):
        placeholders.check(words, allowed)
    for words in settings.hooks.values():
        placeholders.check([word.replace("{id}", "") for word in words], allowed)


def _cdi_dirs(command: Sequence[str], settings: DpSettings) -> tuple[str, ...]:
    """Where its CDI files may lie: also where it was told to put them."""
    named = "cdi" in placeholders.used([*command, *settings.env.values()])
    return (*["{cdi}"] * named, *settings.cdi_dirs)


def _program(command: Sequence[str]) -> str:
    """The name of what is run: behind `env A=B` as well."""
    words = [word for word in command if "=" not in word]
    return Path(next((word for word in words if Path(word).name != "env"), words[0])).name


def _nodes_here() -> list[int]:
    folder = Path("/sys/devices/system/node")
    return [int(path.name[4:]) for path in folder.glob("node[0-9]*")] or [0]


# -- our plugin -----------------------------------------------------------------------------------


def _ours(resolved: ResolvedTarget, journal: Journal) -> PluginTarget:
    from conformance.deviceplugin.plugins.ours import NODES  # a command does not pay for it

    settings: DpSettings = resolved.settings
    mutant = _mutant(resolved)
    broken = mutant if resolved.scheme == "mutant" else None
    choices = {**(mutant.choices if mutant else {}), **_persona(resolved)}

    def act(name: str, id: str = "", **_: object) -> None:
        process: Any = target.sessions.current.main
        process.hook(name, id)

    setup = PluginSetup(
        make=_maker(choices, broken),
        empty=_maker({**choices, **_NONE}, broken),
        release=_release(resolved),
        resource=settings.resource,
        hooks=Hooks({name: partial(act, name) for name in get_args(DeviceHook)}),
        numa_nodes=frozenset(settings.numa_nodes or NODES),
        quiet_s=settings.quiet_s or 0.1,
        most_s=3.0,
        cdi_dirs=("{cdi}",),
    )
    stack = ExitStack()
    stack.enter_context(mutants.standing(broken))
    target = PluginTarget(
        setup,
        resolved,
        journal,
        name="refimpl plugin",
        version=version("kube-refimpl"),
        stack=stack,
    )
    return target


def _maker(choices: Mapping[str, Any], broken: PluginMutant | None) -> Maker:
    from conformance.deviceplugin.plugins.ours import OurProcess

    def make(place: PluginPlace) -> OurProcess:
        process = OurProcess(place, choices)
        if broken:
            broken.fake, broken.process = process.plugin, process
        return process

    return make


def _mutant(resolved: ResolvedTarget) -> PluginMutant | None:
    """What gives our plugin its shape; None for a mutant of the other side."""
    from conformance.deviceplugin.mutation import PluginMutant

    if resolved.scheme == "fake":
        return None
    mutant = mutants.load(resolved.interface.name, resolved.address)
    return mutant if isinstance(mutant, PluginMutant) else None


def _persona(resolved: ResolvedTarget) -> dict[str, Any]:
    """The choice that `fake:PERSONA` is; a name of a kubelet is none of a plugin."""
    from refimpl.deviceplugin.plugin.personas import PERSONAS

    name = resolved.address if resolved.scheme == "fake" else ""
    if not name or name in PROFILES:
        return {}
    if name not in PERSONAS:
        raise BadOption(f"fake:{name}: there is fake:{', fake:'.join([*PERSONAS, *PROFILES])}")
    return {"persona": name}


def _release(resolved: ResolvedTarget) -> str:
    """Of the kubelet around it."""
    return resolved.judged_by(RELEASES[-1]).number
