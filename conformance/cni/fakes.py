"""Our fakes as a target: plugins, a runtime and documents, whole or broken by a mutant."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from conformance.cni.mutation import DocumentMutant, PluginMutant, RuntimeMutant
from conformance.cni.networks.documents import Documents
from conformance.cni.plugins.fakes import FAKES, installed
from conformance.cni.runtimes.bench import Bench
from conformance.cni.runtimes.ours import Ours
from conformance.cni.target import CniTarget
from conformance.engine import mutants
from conformance.engine.options import BadOption
from conformance.engine.targets.resolve import ResolvedTarget
from refimpl.cni.runtime import PROFILES

__all__ = ["open_fakes"]


def open_fakes(resolved: ResolvedTarget) -> CniTarget:
    """Opens `fake`, `fake:KIND` and `:PROFILE`, `mutant:` and `unbroken:NAME`; BadOption."""
    mutant = mutants.load("cni", resolved.address) if resolved.scheme != "fake" else None
    kind, profile = _chosen(resolved, mutant)
    folder = Path(tempfile.mkdtemp(prefix="refimpl-cni-"))
    of_plugins = mutant if isinstance(mutant, PluginMutant) else None
    is_broken = resolved.scheme == "mutant"
    plugins = installed(kind, folder, resolved.settings, of_plugins, broken=is_broken)
    breach = mutant if is_broken else None

    def bench() -> Bench:
        ours = Ours(profile, breach if isinstance(breach, RuntimeMutant) else None)
        return Bench(ours, plugins.log, resolved.run_id, resolved.settings)

    return CniTarget(
        resolved,
        plugins.main.name,
        newest=plugins.main.newest,
        log=plugins.log,
        plugins=plugins,
        documents=lambda: _documents(folder / "documents", resolved, breach),
        bench=bench,
        at_end=lambda: shutil.rmtree(folder, ignore_errors=True),
    )


def _chosen(resolved: ResolvedTarget, mutant: mutants.Mutant | None) -> tuple[str, str]:
    """The kind of the main plugin, and the profile of the runtime."""
    if isinstance(mutant, PluginMutant):
        return mutant.kind, "strict"
    name = resolved.address if mutant is None else ""
    if name in PROFILES:
        return "interface", name
    if name and name not in FAKES:
        raise BadOption(f"fake:{name}: there is fake:{', fake:'.join([*FAKES, *PROFILES])}")
    return name or "interface", "strict"


def _documents(folder: Path, resolved: ResolvedTarget, breach: mutants.Mutant | None) -> Documents:
    from conformance.cni.networks import samples

    mistake = breach if isinstance(breach, DocumentMutant) else None
    return samples.opened(folder, mistake, seed=resolved.seed)
