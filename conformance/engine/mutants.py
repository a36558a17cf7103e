"""Deliberately broken fakes: the proof that every case is able to fail.

A mutant lives in fixtures/mutants/<interface>/. It breaks one thing by a method that is named
after an RPC and stands between the wire and the fake:

```python
class ForgetsReadOnly(Mutant):
    "A driver that loses the flag (seen in the field: …)."
    kills = {"CSI-NPUB-006"}

    def NodePublishVolume(self, proceed, request, call):
        request.readonly = False
        return proceed(request, call)
```

`python -m conformance.engine.matrix` runs the suite against each, prints the kill matrix and
fails when the fake fails a case, a mutant survives what it names, or a case has no killer.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from conformance.engine import fixtures
from conformance.engine.options import BadOption


class Mutant:
    """One small breach. `fake` is the running fake it breaks."""

    kills: ClassVar[Collection[str]] = ()
    profile: ClassVar[str] = "default"
    revision: ClassVar[str] = ""
    without: ClassVar[Collection[str]] = ()
    settings: ClassVar[Mapping[str, str]] = {}
    nodes: ClassVar[int] = 2
    seams: ClassVar[Mapping[str, str]] = {}
    """A method here -> `module:function` or `module:Class.method` of ours that it stands before,
    with the arguments (proceed, *arguments); a method's instance is the first of them."""

    fake: Any = None

    @classmethod
    def shape(cls) -> str:
        """The choices of the fake it breaks, as one text; mutants of one shape break one fake."""
        settings = sorted(cls.settings.items())
        return repr((cls.profile, cls.revision, sorted(cls.without), settings, cls.nodes))

    def started(self) -> None:
        """Called once the fake serves; for breaches of its state or its surroundings."""


class Interposed:
    """A service whose methods pass through the mutant's where it has one of that name."""

    def __init__(self, service: object, mutant: Mutant) -> None:
        self._service, self._mutant = service, mutant

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._service, name)
        broken = getattr(self._mutant, name, None)
        return functools.partial(broken, real) if broken else real


def fake(kind: Any, mutant: Mutant, *, broken: bool = True, **choices: Any) -> Any:
    """The fake of class `kind` with the mutant between it and the wire; not started yet.

    Not broken: the fake in the mutant's shape with nothing done to it.
    """

    class Mutated(kind):  # type: ignore[misc]
        def services(self) -> Any:
            return _between(super().services(), mutant)

        def node_services(self, index: int) -> Any:  # of a fake with several nodes
            return _between(super().node_services(index), mutant)

        def start(self) -> Any:
            started = super().start()
            mutant.started()
            return started

    made = (Mutated if broken else kind)(
        profile=mutant.profile,
        nodes=mutant.nodes,
        without=tuple(mutant.without),
        settings=dict(mutant.settings),
        **choices,
    )
    mutant.fake = made
    return made


@contextlib.contextmanager
def standing(mutant: Mutant | None) -> Iterator[None]:
    """Has the mutant stand before the functions that its `seams` name."""
    with contextlib.ExitStack() as stack:
        for method, path in mutant.seams.items() if mutant else ():
            module, _, name = path.partition(":")
            *outer, last = name.split(".")
            owner: Any = functools.reduce(getattr, outer, importlib.import_module(module))
            stack.enter_context(_before(owner, last, getattr(mutant, method)))
        yield


@contextlib.contextmanager
def _before(owner: Any, name: str, broken: Callable[..., Any]) -> Iterator[None]:
    whole = owner.__dict__[name]

    def bent(*arguments: Any, **more: Any) -> Any:
        if not inspect.isclass(owner):
            return broken(whole, *arguments, **more)
        proceed = functools.partial(whole, arguments[0])
        return broken(proceed, *arguments, **more)

    setattr(owner, name, bent)
    try:
        yield
    finally:
        setattr(owner, name, whole)


def _between(services: Mapping[Any, object], mutant: Mutant) -> dict[Any, object]:
    return {key: Interposed(service, mutant) for key, service in services.items()}


@functools.cache
def classes(interface: str) -> dict[str, type[Mutant]]:
    """Every mutant of an interface by its name; raises BadOption for a name used twice."""
    found: dict[str, type[Mutant]] = {}
    for path in sorted((fixtures.folder() / "mutants").glob(f"{interface}/**/*.py")):
        for mutant in _in_file(path):
            if mutant.__name__ in found:
                raise BadOption(f"{path}: there are two mutants called {mutant.__name__}")
            found[mutant.__name__] = mutant
    return found


def _in_file(path: Path) -> Iterator[type[Mutant]]:
    within = path.relative_to(fixtures.folder() / "mutants").with_suffix("")
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
