"""`python -m conformance.engine.matrix`: the suite against every mutant, and the kill matrix."""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from conformance.engine import cases, mutants, run
from conformance.engine.events import CaseDone, End, Event
from conformance.engine.interface import load
from conformance.engine.interfaces import INTERFACES
from conformance.engine.judging.session import Listener
from conformance.engine.mutants import fates
from conformance.engine.mutants.fates import Job, Verdicts
from conformance.engine.options import Options


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
        {case.id: _rules(case) for case in done if case.message},
        status[0] if status else -1,
        time.monotonic() - began,
    )


def _rules(case: CaseDone) -> str:
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


def _ready(interface: str) -> None:
    """Imports what each run needs, once for all that are forked afterwards."""
    INTERFACES[interface].import_fakes()
    cases.found(interface)
    gc.collect()
    gc.freeze()


def check(interface: str, only: Sequence[str], workers: int, whole: bool) -> list[str]:
    """Runs everything, prints the matrix and at once what is wrong, and returns that as sentences.

    A mutant that survives is judged once more at the end: one that dies then is told to die
    sometimes, which an unlucky moment explains, and is not wrong.
    """
    chosen = {
        name: kind for name, kind in mutants.classes(interface).items() if not only or name in only
    }
    unbroken: list[Job] = [(interface, "fake", ()), *_unbroken(interface, chosen)]
    broken = {
        name: (interface, f"mutant:{name}", () if whole else sorted(kind.kills))
        for name, kind in chosen.items()
    }
    verdicts = judge_all([*unbroken, *broken.values()], workers)
    lines = [_told(line) for job in unbroken for line in fates.sick(job, next(verdicts))]
    killed: set[str] = set()
    suspects: dict[str, dict[tuple[str, str], str]] = {}
    for (name, kind), verdict in zip(chosen.items(), verdicts, strict=True):
        print(fates.row(name, kind, verdict), flush=True)
        killed |= set(kind.kills) & verdict.killers
        if wrong := fates.wrong(name, kind, verdict):
            suspects[name] = wrong
            for line in wrong.values():
                print(f"- {line}; it is judged once more at the end", flush=True)
    for name, again in zip(
        suspects, judge_all([broken[name] for name in suspects], workers), strict=True
    ):
        kind = chosen[name]
        killed |= set(kind.kills) & again.killers
        lines += _twice(suspects[name], fates.wrong(name, kind, again))
    return lines if only or not fates.ROOT else lines + fates.without_killer(interface, killed)


def _told(line: str) -> str:
    print(f"- {line}", flush=True)
    return line


def _twice(first: Mapping[tuple[str, str], str], again: Mapping[tuple[str, str], str]) -> list[str]:
    """What was wrong both times, or only the second time; prints what was the first time alone."""
    for key, line in first.items():
        if key not in again:
            print(f"flaky kill: {line}; judged once more, it does not", flush=True)
    return [_told(line) for line in again.values()]


def _unbroken(interface: str, chosen: Mapping[str, type[mutants.Mutant]]) -> list[Job]:
    """The whole fake in each shape that mutants break: it has to pass what they are killed by."""
    shapes: dict[str, tuple[str, set[str]]] = {}
    for name, kind in chosen.items():
        if kind.shape():
            shapes.setdefault(kind.shape(), (name, set()))[1].update(kind.kills)
    return [(interface, f"unbroken:{name}", sorted(ids)) for name, ids in shapes.values()]


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
            _ready(interface)
            wrong += check(interface, chosen.only, chosen.n, chosen.whole)
        tempfile.tempdir = None
    print()
    for line in wrong:
        print(f"- {line}")
    print("every mutant dies of what it names" if not wrong else f"{len(wrong)} things are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
