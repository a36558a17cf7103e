"""Our own fake plugins on a simulated host: no root, no namespaces, no network.

They run as functions of this process where an exec asks for nothing that takes a process; the same
plugins lie in the folder as executables.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.cni.mutation import PluginMutant
from conformance.cni.plugins.calling import called
from conformance.cni.plugins.installed import InstalledPlugins
from conformance.cni.plugins.subject import PluginSubject, directories
from conformance.cni.settings import CniSettings
from conformance.engine import mutants
from refimpl.cni import contract
from refimpl.cni.execute import PLAIN, Conditions, Outcome, Processes, Request
from refimpl.cni.host.simulated import Simulated
from refimpl.cni.plugins import ProcessOnly, configure, install, settings_of
from refimpl.cni.plugins.delegate import find, spawn

__all__ = ["FAKES", "FakeExecutor", "installed"]

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


class FakeExecutor:
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
        """What the fake answers: called as a function, or run where that takes a process."""

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


def installed(
    first: str, folder: Path, settings: CniSettings, mutant: PluginMutant | None, *, broken: bool
) -> InstalledPlugins:
    """One fake of each kind below the folder, that of `first` the main one.

    mutant: whose documents they get; broken: whether they have its breach as well.
    """
    host = Simulated(folder / "host")
    kinds = sorted(FAKES, key=lambda kind: kind != first)
    subjects = [_subject(kind, folder, host, settings, mutant) for kind in kinds]
    if mutant and broken and mutant.faults:
        configure(folder / "bin" / FAKES[first][0], faults=list(mutant.faults))
    executor = FakeExecutor(host, mutant if broken else None)
    return InstalledPlugins(subjects=subjects, executor=executor, host=host)


def _subject(
    kind: str, folder: Path, host: Simulated, settings: CniSettings, mutant: PluginMutant | None
) -> PluginSubject:
    name, fake, document = FAKES[kind]
    (folder / "bin").mkdir(exist_ok=True)
    path = install(folder / "bin", name, fake, kernel=host.kernel)
    changes = mutant.config if mutant and mutant.kind == kind else {}
    return PluginSubject(
        str(path),
        kind,
        {**document, **changes},
        contract.VERSIONS,
        directories(str(folder / "bin"), settings.path),
        settings,
    )
