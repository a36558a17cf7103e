"""`python -m conformance.engine.matrix`: the suite against every mutant, and the kill matrix."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import attrs

from conformance.engine import cases, fixtures, mutants, run
from conformance.engine.events import CaseDone, End, Event
from conformance.engine.interface import load
from conformance.engine.interfaces import INTERFACES, interface_of
from conformance.engine.judging.session import Listener
from conformance.engine.options import CONFORMANT, Options

_ROOT = os.geteuid() == 0
KILLED = {"fail", "warn", "error"}
Job = tuple[str, str, Sequence[str]]  # interface, target, ids (none: all)


@attrs.frozen
class Verdicts:
    """What the suite said of one target: outcome and message by case id, and the exit code."""

    outcomes: dict[str, str]
    messages: dict[str, str]
    exit_code: int
    seconds: float

    @property
    def killers(self) -> set[str]:
        """The cases that noticed."""
        return {id for id, outcome in self.outcomes.items() if outcome in KILLED}


def judge(interface: str, target: str, only: Sequence[str] = ()) -> Verdicts:
    """Runs the suite in this process, silently."""
    done: list[CaseDone] = []
    status: list[int] = []

    def listen(event: Event) -> None:
        if isinstance(event, CaseDone):
            done.append(event)
        elif isinstance(event, End):
            status.append(event.exit_code)

    began = time.monotonic()
    options = Options(interface=interface, target=target, only=tuple(only))
    run.run(options, plugins=[Listener(listen)])
    return Verdicts(
        {case.id: case.outcome for case in done},
        {case.id: _told(case) for case in done if case.message},
        status[0] if status else -1,
        time.monotonic() - began,
    )


def _told(case: CaseDone) -> str:
    """All rules that a case found broken."""
    return "; ".join([case.message, *(each.rule for each in case.also)])


def judge_all(jobs: Sequence[Job], workers: int) -> Iterator[Verdicts]:
    """One forked process a target, `workers` at a time; results in the order of the jobs.

    Forking saves each run the imports; nothing of gRPC is alive in this process yet.
    """
    context = multiprocessing.get_context("fork")
    results: dict[int, Verdicts] = {}
    running: dict[Connection, int] = {}
    waiting = list(enumerate(jobs))
    next_number = 0
    while waiting or running:
        while waiting and len(running) < workers:
            number, job = waiting.pop(0)
            ours, theirs = context.Pipe(duplex=False)
            context.Process(target=_child, args=(theirs, job)).start()
            theirs.close()
            running[ours] = number
        for ready in wait(list(running)):
            assert isinstance(ready, Connection)
            number = running.pop(ready)
            try:
                results[number] = ready.recv()
            except EOFError:
                results[number] = Verdicts({}, {}, -1, 0)
        while next_number in results:
            yield results.pop(next_number)
            next_number += 1


def _child(pipe: Connection, job: Job) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    pipe.send(judge(*job))
    pipe.close()
    os._exit(0)  # a mutant may have left threads behind that never end


def unkilled(interface: str) -> dict[str, str]:
    """Cases that no mutant can kill, each with its reason (fixtures/mutants/unkilled.toml)."""
    path = fixtures.folder() / "mutants" / "unkilled.toml"
    rows = tomllib.loads(path.read_text()).get("unkilled", [])
    return {row["id"]: row["reason"] for row in rows if interface_of(row["id"]) == interface}


def check(interface: str, only: Sequence[str], workers: int, whole: bool) -> list[str]:
    """Runs everything, prints the matrix, and returns what is wrong as sentences."""
    chosen = {
        name: kind for name, kind in mutants.classes(interface).items() if not only or name in only
    }
    unbroken: list[Job] = [(interface, "fake", ()), *_unbroken(interface, chosen)]
    broken: list[Job] = [
        (interface, f"mutant:{name}", () if whole else sorted(kind.kills))
        for name, kind in chosen.items()
    ]
    verdicts = judge_all([*unbroken, *broken], workers)
    wrong = [line for job in unbroken for line in _sick(job, next(verdicts))]
    killed: set[str] = set()
    for (name, kind), verdict in zip(chosen.items(), verdicts, strict=True):
        wrong += _row(name, kind, verdict)
        killed |= set(kind.kills) & verdict.killers
    return wrong if only or not _ROOT else wrong + _without_killer(interface, killed)


def _unbroken(interface: str, chosen: Mapping[str, type[mutants.Mutant]]) -> list[Job]:
    """The whole fake in each shape that mutants break: it has to pass what they are killed by."""
    shapes: dict[str, tuple[str, set[str]]] = {}
    for name, kind in chosen.items():
        if kind.shape():
            shapes.setdefault(kind.shape(), (name, set()))[1].update(kind.kills)
    return [(interface, f"unbroken:{name}", sorted(ids)) for name, ids in shapes.values()]


def _sick(job: Job, result: Verdicts) -> list[str]:
    """What is wrong with a fake that nothing was done to."""
    _, target, only = job
    wrong = [f"{target} fails {id}: {result.messages.get(id)}" for id in sorted(result.killers)]
    if result.exit_code not in (CONFORMANT, *((1,) if wrong else ())):
        wrong.append(f"{target}: the suite did not come to its end (exit code {result.exit_code})")
    wrong += [
        f"{target} skips {id}, so that its killer proves nothing: {result.messages.get(id)}"
        for id in only
        if result.outcomes.get(id) == "skip"
    ]
    return wrong


def _row(name: str, kind: type[mutants.Mutant], result: Verdicts) -> list[str]:
    """Prints the row of one mutant; returns what it survived.

    Without root the cases about mounts are skipped, so what they would kill is left undecided.
    """
    skipped = {id for id, outcome in result.outcomes.items() if outcome == "skip"}
    missed = sorted(set(kind.kills) - result.killers - (set() if _ROOT else skipped))
    also = sorted(result.killers - set(kind.kills))
    fate = "SURVIVES" if missed else "dies"
    print(f"{fate:9}{name:44} {' '.join(sorted(kind.kills))}{_also(also)}", flush=True)
    reasons = {
        id: f"{result.outcomes.get(id, 'not run')} {result.messages.get(id, '')}" for id in missed
    }
    survives = [f"{name} survives {id} ({reason.strip()})" for id, reason in reasons.items()]
    return survives + [
        f"{name}: the finding of {id} does not tell of {words!r}"
        for id in sorted(set(kind.tells) & result.killers)
        for words in kind.tells[id]
        if words not in result.messages.get(id, "")
    ]


def _also(ids: list[str]) -> str:
    return f"  (+ {len(ids)}: {' '.join(ids[:4])}{' …' if len(ids) > 4 else ''})" if ids else ""


def _without_killer(interface: str, killed: set[str]) -> list[str]:
    explained, known = unkilled(interface), set(cases.found(interface))
    wrong = [f"no mutant kills {id}" for id in sorted(known - killed - set(explained))]
    wrong += [
        f"unkilled.toml lists {id}, but a mutant kills it; remove the entry"
        for id in sorted(set(explained) & killed)
    ]
    return wrong


def serve(interface: str, target: str, endpoint: str, folder: str) -> None:
    """Serves `mutant:NAME` or `unbroken:NAME` until SIGTERM, as `refimpl serve` serves a fake."""
    kind, _, name = target.partition(":")
    mutant = mutants.load(interface, name)
    fake = mutants.fake(
        fake_class(interface),
        mutant,
        broken=kind == "mutant",
        endpoint=endpoint,
        state_dir=Path(folder),
    )
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with fake:
        print(f"ready {fake.endpoint}", flush=True)
        ended.wait()


def fake_class(interface: str) -> Any:
    """The class of an interface's fake, where one process serves it."""
    return load(INTERFACES[interface].fakes[interface])


def main(words: Sequence[str] | None = None) -> int:
    """Exit code 0 when every mutant dies and every case has a killer."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance.engine.matrix", description=__doc__
    )
    parser.add_argument("only", nargs="*", metavar="MUTANT", help="these mutants only")
    parser.add_argument("-i", "--interface", choices=list(INTERFACES), help="one interface only")
    parser.add_argument("-n", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--whole", action="store_true", help="the whole suite against each mutant")
    parser.add_argument("--serve", nargs=4, metavar=("IFACE", "TARGET", "ENDPOINT", "DIR"))
    chosen: Any = parser.parse_args(words)
    if chosen.serve:
        serve(*chosen.serve)
        return 0
    known = {name for interface in INTERFACES for name in mutants.classes(interface)}
    if strange := sorted(set(chosen.only) - known):
        parser.error(f"there is no mutant called {', '.join(strange)}")
    wrong: list[str] = []
    # Broken drivers leave things behind; all of it goes with this folder.
    with tempfile.TemporaryDirectory(prefix="matrix-", ignore_cleanup_errors=True) as home:
        tempfile.tempdir = os.environ["TMPDIR"] = home
        for interface in [chosen.interface] if chosen.interface else INTERFACES:
            INTERFACES[interface].import_fakes()
            wrong += check(interface, chosen.only, chosen.n, chosen.whole)
        tempfile.tempdir = None
    print()
    for line in wrong:
        print(f"- {line}")
    print("every mutant dies of what it names" if not wrong else f"{len(wrong)} things are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
