"""`python -m conformance.engine.matrix`: the suite against every mutant, and the kill matrix."""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import attrs
import tomllib

from conformance.engine import fixtures, mutants, run
from conformance.engine.events import CaseDone, End, Event
from conformance.engine.options import CONFORMANT, Options
from conformance.engine.session import Listener
from conformance.engine.target import INTERFACES

FAKES = {"csi": "refimpl.csi.fake:FakeDriver"}
KILLED = {"fail", "warn", "error"}


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
        {case.id: case.message for case in done if case.message},
        status[0] if status else -1,
        time.monotonic() - began,
    )


def judge_all(jobs: Sequence[tuple[str, str, Sequence[str]]], workers: int) -> Iterable[Verdicts]:
    """One forked process a target, `workers` at a time; results in the order of the jobs.

    Forking saves each run the imports; nothing of gRPC is alive in this process yet.
    """
    context = multiprocessing.get_context("fork")
    results: dict[int, Verdicts] = {}
    running: dict[Connection, int] = {}
    waiting = list(enumerate(jobs))
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
    return [results[number] for number in range(len(jobs))]


def _child(pipe: Connection, job: tuple[str, str, Sequence[str]]) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    pipe.send(judge(*job))
    pipe.close()
    os._exit(0)  # a mutant may have left threads behind that never end


def unkilled(interface: str) -> dict[str, str]:
    """Cases that no mutant can kill, each with its reason (fixtures/mutants/unkilled.toml)."""
    path = fixtures.folder() / "mutants" / "unkilled.toml"
    rows = tomllib.loads(path.read_text()).get("unkilled", [])
    return {
        row["id"]: row["reason"] for row in rows if row["id"].lower().startswith(f"{interface}-")
    }


def check(interface: str, only: Sequence[str], workers: int, whole: bool) -> list[str]:
    """Runs everything, prints the matrix, and returns what is wrong as sentences."""
    wrong: list[str] = []
    chosen = {
        name: kind for name, kind in mutants.classes(interface).items() if not only or name in only
    }
    jobs: list[tuple[str, str, Sequence[str]]] = [(interface, "fake", ())]
    jobs += [
        (interface, f"mutant:{name}", () if whole else sorted(kind.kills))
        for name, kind in chosen.items()
    ]
    healthy, *verdicts = judge_all(jobs, workers)
    if healthy.exit_code != CONFORMANT or healthy.killers:
        wrong += [f"our fake fails {id}: {healthy.messages.get(id)}" for id in healthy.killers]
        wrong += ["the suite did not come to its end on our fake"] * (healthy.exit_code < 0)
    killed: set[str] = set()
    for (name, kind), found in zip(chosen.items(), verdicts, strict=True):
        named = set(kind.kills)
        missed = sorted(named - found.killers)
        killed |= named & found.killers
        mark = "SURVIVES" if missed else "dies"
        also = sorted(found.killers - named)
        print(f"{mark:9}{name:44} {' '.join(sorted(named))}{_also(also)}")
        for id in missed:
            said = f"{found.outcomes.get(id, 'not run')}: {found.messages.get(id, '')}".strip(": ")
            wrong.append(f"{name} survives {id} ({said})")
    if not only:
        wrong += _without_killer(interface, healthy, killed)
    return wrong


def _also(ids: list[str]) -> str:
    return f"  (+ {len(ids)}: {' '.join(ids[:4])}{' …' if len(ids) > 4 else ''})" if ids else ""


def _without_killer(interface: str, healthy: Verdicts, killed: set[str]) -> list[str]:
    explained = unkilled(interface)
    ran = set(healthy.outcomes)
    wrong = [f"no mutant kills {id}" for id in sorted(ran - killed - set(explained))]
    wrong += [
        f"unkilled.toml lists {id}, but a mutant kills it; remove the entry"
        for id in sorted(set(explained) & killed)
    ]
    return wrong


def serve(interface: str, name: str, endpoint: str, folder: str) -> None:
    """Serves one mutant until SIGTERM, as `refimpl serve` serves a fake."""
    module, _, attribute = FAKES[interface].partition(":")
    mutant = mutants.load(interface, name)
    kind = getattr(importlib.import_module(module), attribute)
    made = mutants.fake(kind, mutant, endpoint=endpoint, state_dir=Path(folder))
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with made:
        print(f"ready {made.endpoint}", flush=True)
        ended.wait()


def main(words: Sequence[str] | None = None) -> int:
    """Exit code 0 when every mutant dies and every case has a killer."""
    parser = argparse.ArgumentParser(prog="python -m conformance.engine.matrix", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="MUTANT", help="these mutants only")
    parser.add_argument("-i", "--interface", choices=list(INTERFACES), help="one interface only")
    parser.add_argument("-n", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--whole", action="store_true", help="the whole suite against each mutant")
    parser.add_argument("--serve", nargs=4, metavar=("IFACE", "MUTANT", "ENDPOINT", "DIR"))
    chosen: Any = parser.parse_args(words)
    if chosen.serve:
        serve(*chosen.serve)
        return 0
    wrong: list[str] = []
    for interface in [chosen.interface] if chosen.interface else INTERFACES:
        importlib.import_module(FAKES[interface].partition(":")[0])
        wrong += check(interface, chosen.only, chosen.n, chosen.whole)
    print()
    for line in wrong:
        print(f"- {line}")
    print("every mutant dies of what it names" if not wrong else f"{len(wrong)} things are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
