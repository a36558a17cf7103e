"""Our own fake plugins as a target, on a simulated host: no root, no namespaces, no network.

They run as functions of this process where an exec asks for nothing that takes a process; the same
plugins lie in the folder as executables.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.cni.mutation import DocumentMutant, PluginMutant, RuntimeMutant
from conformance.cni.plugins.calling import called
from conformance.cni.plugins.subject import Subject, directories
from conformance.cni.runtimes.bench import Bench
from conformance.cni.runtimes.ours import Ours
from conformance.cni.settings import CniSettings
from conformance.cni.target import CniTarget
from conformance.engine import mutants
from conformance.engine.options import BadOption
from conformance.engine.resolve import ResolvedTarget
from refimpl.cni import contract
from refimpl.cni.execute import PLAIN, Conditions, Outcome, Processes, Request
from refimpl.cni.host.simulated import Simulated
from refimpl.cni.plugins import ProcessOnly, configure, install, settings_of
from refimpl.cni.plugins.delegate import find, spawn
from refimpl.cni.runtime import PROFILES

if TYPE_CHECKING:
    from conformance.cni.networks.documents import Documents

_IPAM = {
    "type": "fake-host-local",
    "ranges": [[{"subnet": "10.88.0.0/16"}]],
    "routes": [{"dst": "0.0.0.0/0"}],
}
_INTERFACE = {"type": "fake-bridge", "bridge": "fake0", "isGateway": True, "ipam": _IPAM}
_MAPPING = {"hostPort": 18080, "containerPort": 80, "protocol": "tcp"}
_CHAINED = {"type": "fake-portmap", "runtimeConfig": {"portMappings": [_MAPPING]}}

# The kind of plugin -> its name, the kind of fake that `install` knows, and its document.
FAKES: dict[str, tuple[str, str, Mapping[str, Any]]] = {
    "interface": ("fake-bridge", "interface", _INTERFACE),
    "chained": ("fake-portmap", "chained", _CHAINED),
    "ipam": ("fake-host-local", "hostlocal", _INTERFACE),
}


class Functions:
    """An executor that calls our fakes; `broken` says which of them a mutant stands before."""

    def __init__(self, host: Simulated, mutant: PluginMutant | None = None) -> None:
        self._host, self._mutant = host, mutant
        self._processes = Processes()
        self._broken = FAKES[mutant.kind][0] if mutant else ""

    def run(
        self,
        plugin: str | Path,
        request: Request,
        *,
        deadline_s: float = 10.0,
        conditions: Conditions = PLAIN,
    ) -> Outcome:
        """See Executor."""

        def proceed(request: Request, _host: object = None) -> Outcome:
            return self._proceed(plugin, request, deadline_s, conditions)

        broken = request.verb.isupper() and Path(plugin).name == self._broken
        call = mutants.bent(self._mutant if broken else None, request.verb, proceed)
        outcome: Outcome = call(request, self._host)
        return outcome

    def _proceed(
        self, plugin: str | Path, request: Request, deadline_s: float, conditions: Conditions
    ) -> Outcome:
        if conditions == PLAIN:
            try:
                return called(settings_of(plugin), request, exec_delegate=self._delegate)
            except ProcessOnly:
                pass  # a fault that takes a process
        return self._processes.run(plugin, request, deadline_s=deadline_s, conditions=conditions)

    def _delegate(
        self, name: str, environ: Mapping[str, str], stdin: bytes
    ) -> tuple[int, bytes, bytes]:
        path = find(name, environ.get("CNI_PATH", ""))
        if not Path(f"{path}.settings.json").exists():
            return spawn(path, environ, stdin)
        outcome = self.run(path, Request(environ.get("CNI_COMMAND", ""), environ, stdin))
        return outcome.status, outcome.stdout, outcome.stderr


def open_fakes(resolved: ResolvedTarget) -> CniTarget:
    """Opens `fake`, `fake:KIND` and `:PROFILE`, `mutant:NAME`, `unbroken:NAME`; BadOption."""
    kind, name = resolved.scheme, resolved.address
    chosen: CniSettings = resolved.settings
    mutant = mutants.load("cni", name) if kind != "fake" else None
    profile, name = (name, "") if kind == "fake" and name in PROFILES else ("strict", name)
    first = _first(name, mutant)
    folder = Path(tempfile.mkdtemp(prefix="refimpl-cni-"))
    host = Simulated(folder / "host")
    broken = mutant if kind == "mutant" and isinstance(mutant, PluginMutant) else None
    subjects = [_installed(each, folder, host, chosen, mutant) for each in _ordered(first)]
    if broken and broken.faults:
        configure(folder / "bin" / FAKES[first][0], faults=list(broken.faults))
    return CniTarget(
        subjects,
        resolved,
        Functions(host, broken),
        host_for=lambda: host,
        at_end=_removal(folder),
        documents=lambda: _documents(folder / "documents", resolved, mutant),
        bench=lambda log: Bench(
            Ours(profile, _runtime_mutant(kind, mutant)), log, resolved.run_id, chosen
        ),
    )


def _runtime_mutant(kind: str, mutant: mutants.Mutant | None) -> RuntimeMutant | None:
    return mutant if kind == "mutant" and isinstance(mutant, RuntimeMutant) else None


def _first(name: str, mutant: mutants.Mutant | None) -> str:
    if isinstance(mutant, PluginMutant):
        return mutant.kind
    if mutant is not None:
        return "interface"
    if name and name not in FAKES:
        raise BadOption(f"fake:{name}: there is fake:{', fake:'.join([*FAKES, *PROFILES])}")
    return name or "interface"


def _ordered(first: str) -> list[str]:
    return sorted(FAKES, key=lambda kind: kind != first)


def _installed(
    kind: str, folder: Path, host: Simulated, chosen: CniSettings, mutant: mutants.Mutant | None
) -> Subject:
    name, fake, document = FAKES[kind]
    (folder / "bin").mkdir(exist_ok=True)
    path = install(folder / "bin", name, fake, kernel=host.kernel)
    changes = mutant.config if isinstance(mutant, PluginMutant) and mutant.kind == kind else {}
    return Subject(
        str(path),
        kind,
        {**document, **changes},
        contract.VERSIONS,
        directories(str(folder / "bin"), chosen.path),
        chosen,
    )


def _documents(folder: Path, resolved: ResolvedTarget, mutant: mutants.Mutant | None) -> Documents:
    from conformance.cni.networks import samples

    is_broken = resolved.scheme == "mutant"
    broken = mutant if is_broken and isinstance(mutant, DocumentMutant) else None
    return samples.opened(folder, broken, seed=resolved.seed)


def _removal(folder: Path) -> Callable[[], None]:
    return lambda: shutil.rmtree(folder, ignore_errors=True)
