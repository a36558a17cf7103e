"""Finds the mutants of an interface by name, and puts one between the wire and its fake."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.engine import fixtures
from conformance.engine.interfaces import INTERFACES
from conformance.engine.mutants.mutant import Interposed, Mutant, standing
from conformance.engine.options import BadOption

__all__ = ["classes", "command", "fake", "load"]


def fake(kind: Any, mutant: Mutant, *, broken: bool = True, **choices: Any) -> Any:
    """The fake of class `kind` with the mutant between it and the wire; not started yet.

    Not broken: the fake in the mutant's shape with nothing done to it.
    """

    class Mutated(kind):  # type: ignore[misc]
        def services(self) -> Any:
            return _between(super().services(), mutant)

        def node_services(self, index: int) -> Any:  # of a fake with several nodes
            return _between(super().node_services(index), mutant)

        bends = contextlib.ExitStack()

        def start(self) -> Any:
            self.bends.enter_context(standing(mutant))
            started = super().start()
            mutant.started()
            return started

        def stop(self, *arguments: Any) -> None:
            super().stop(*arguments)
            self.bends.close()

    mutant.fake = (Mutated if broken else kind)(**{**mutant.chosen(), **choices})
    return mutant.fake


def _between(services: Mapping[Any, object], mutant: Mutant) -> dict[Any, object]:
    return {key: Interposed(service, mutant) for key, service in services.items()}


@functools.cache
def classes(interface: str) -> dict[str, type[Mutant]]:
    """Every mutant of an interface by its name; raises BadOption for a name used twice."""
    found: dict[str, type[Mutant]] = {}
    record = INTERFACES.get(interface)
    folder = fixtures.folder() / "mutants" / ((record and record.mutants) or interface)
    for path in sorted(folder.rglob("*.py")):
        for mutant in _in_file(path, folder.parent):
            if mutant.__name__ in found:
                raise BadOption(f"{path}: there are two mutants called {mutant.__name__}")
            found[mutant.__name__] = mutant
    return found


def _in_file(path: Path, home: Path) -> Iterator[type[Mutant]]:
    within = path.relative_to(home).with_suffix("")
    name = "refimpl_mutants_" + "_".join(within.parts)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    for value in vars(module).values():
        own = inspect.isclass(value) and value.__module__ == name and issubclass(value, Mutant)
        if own and value.kills:
            yield value


def load(interface: str, name: str) -> Mutant:
    """The mutant of that name; raises BadOption."""
    if name not in classes(interface):
        raise BadOption(f"mutant:{name}: {interface} has no mutant of that name")
    return classes(interface)[name]()


def command(interface: str, name: str, *, broken: bool = True) -> list[str]:
    """The command that serves the mutant, for cases that start and kill the target."""
    kind = "mutant" if broken else "unbroken"
    words = ["-m", "conformance.engine.matrix", "--serve", interface, f"{kind}:{name}"]
    words += ["{endpoint}", "{dir}"]
    return [sys.executable, *words]
