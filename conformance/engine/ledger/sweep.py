"""Where the ledgers of runs lie, so that the leftovers of a killed run can be found again."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from conformance.engine.ledger.entries import left
from conformance.engine.ledger.file import UnreadableLedger, held, records
from conformance.engine.ledger.leftovers import Leftovers
from conformance.engine.ledger.processes import PROCESSES
from conformance.engine.options import Options
from conformance.engine.runid import new_run_id, worker
from conformance.engine.targets.resolve import ResolvedTarget, resolve
from refimpl import files

_RUN = "-run.jsonl"
"""How the name of a run's ledger ends."""
HOME = "REFIMPL_LEDGERS"
"""The variable that tells the processes of a run where its ledgers lie."""


def home() -> Path:
    """$XDG_STATE_HOME/refimpl/ledgers; a temporary folder where that cannot be written, or is not
    this user's: what stands in a ledger is removed, so nobody else may write one. Raises OSError.
    """
    if chosen_before := os.environ.get(HOME):
        return Path(chosen_before)
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    chosen = Path(state) / "refimpl" / "ledgers"
    try:
        chosen.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(files.own_folder(chosen))
        if os.access(chosen, os.W_OK):
            return chosen
        reason: str | None = "it cannot be written to"
    except OSError as error:
        reason = error.strerror
    spare = _spare()
    print(f"refimpl: {chosen}: {reason}; the ledger goes to {spare}", file=sys.stderr)
    return spare


def _spare() -> Path:
    """The temporary folder that an earlier run of this user made, or a new one: its name is random,
    as another user could have made any other before."""
    prefix = f"refimpl-{os.getuid()}-ledgers"
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{prefix}*")):
        with contextlib.suppress(OSError):
            os.close(files.own_folder(path))
            return path
    return Path(tempfile.mkdtemp(prefix=f"{prefix}-"))


def ledger_path(interface: str, target: str, run_id: str) -> Path:
    """The ledger of this process of a run."""
    return home() / f"{interface}-{_short(target)}-{run_id}-{worker()}.jsonl"


def run_ledger_path(interface: str, target: str, run_id: str) -> Path:
    """The ledger of a run as a whole, of what it has on this machine."""
    return home() / f"{interface}-{_short(target)}-{run_id}{_RUN}"


def ledgers(interface: str = "", target: str = "") -> list[Path]:
    """The ledgers that runs have left, oldest first; of an interface, and against a target, if
    one is named."""
    name = f"{interface or '*'}-{_short(target) if target else '*'}"
    return sorted(home().glob(f"{name}-*.jsonl"))


def left_by(run_id: str) -> list[str]:
    """What the ledgers of a run that has ended say is still there, a sentence each."""
    paths = sorted(home().glob(f"*-{glob.escape(run_id)}-*.jsonl"))
    lines = []
    for path in paths:
        names = ", ".join(map(str, left(path)))
        lines.append(f"{names}: could not be undone; {command_of(path)} tries again")
    return lines


def _short(target: str) -> str:
    return hashlib.sha256(target.encode()).hexdigest()[:12]


def sweep(options: Options, *, dry_run: bool = False) -> tuple[list[str], bool]:
    """Undoes what killed runs left; returns what was done, line by line, and whether any failed.

    Raises BadOption, or wire.client.Unreachable. A ledger goes when all of it is undone. Without an
    interface or a target, what only a target can undo is left, and told.
    """
    target = options.named_target
    # What is repeated to learn what it made is on record, too, in a ledger that nobody sweeps now.
    options = msgspec.structs.replace(options, run_id=new_run_id())
    resolved = resolve(options, options.interface) if target else None
    with contextlib.ExitStack() as stack:
        sweeping = _Sweeping(resolved, dry_run)
        stack.callback(sweeping.close)
        # What a killed run has still running could go on making things.
        for path in sorted(ledgers(options.interface, target), key=_of_run, reverse=True):
            with sweeping.telling(path):
                sweeping.take(path, ended=stack.enter_context(held(path)))
        sweeping.work()
    if not sweeping.lines:
        against = f"against {target} " if target else ""
        return [f"nothing to do: no killed run {against}is on record"], False
    return sweeping.lines, sweeping.failed


def _of_run(path: Path) -> bool:
    return path.name.endswith(_RUN)


class _Sweeping:
    """One sweep: first the processes of killed runs, then what they made on targets, and what they
    had on this machine in the end, as a driver may need it to let go."""

    def __init__(self, resolved: ResolvedTarget | None, dry_run: bool) -> None:
        self.lines: list[str] = []
        self.failed = False
        self._resolved, self._dry_run = resolved, dry_run
        self._local = Leftovers()
        self._of_target: Leftovers | None = None
        self._paths: list[Path] = []

    def tell(self, path: Path, line: str) -> None:
        """Adds a line about a ledger."""
        self.lines.append(f"{path.name}: {line}")

    @contextlib.contextmanager
    def telling(self, path: Path) -> Iterator[None]:
        """A ledger that cannot be read is left alone."""
        try:
            yield
        except (OSError, UnreadableLedger) as error:
            self.failed = True
            self.tell(path, f"left alone: {error}")

    def take(self, path: Path, *, ended: bool) -> None:
        """A ledger; where its run has ended its processes end now."""
        if not ended:
            self.tell(path, "left alone, its run is still going")
            return
        for entry in left(path):
            if entry.kind == PROCESSES and not self._dry_run:
                self.tell(path, self._local.undo(entry)[0])
        self._paths.append(path)

    def work(self) -> None:
        """Undoes the rest of all that was taken."""
        for path in sorted(self._paths, key=lambda each: (_of_run(each), each.name)):
            with self.telling(path):
                leftovers = self._leftovers(path)
                if leftovers and not self._swept(leftovers, path) and not self._dry_run:
                    path.unlink()

    def _leftovers(self, path: Path) -> Leftovers | None:
        """What undoes that ledger; None where it takes a target that nobody has named."""
        entries = left(path)
        if entries and all(map(self._local.undoes, entries)):
            return self._local
        if self._resolved:
            self._of_target = self._of_target or self._resolved.leftovers()
            return self._of_target
        self.failed = True
        self.tell(path, f"only its target can undo what is left: {command_of(path)}")
        return None

    def _swept(self, leftovers: Leftovers, path: Path) -> int:
        """How much of one ledger is left."""
        count = 0
        for entry in leftovers.left_by(path):
            undone = (f"would undo {entry}", False) if self._dry_run else leftovers.undo(entry)
            if self._dry_run or entry.kind != PROCESSES:  # those were told of before
                self.tell(path, undone[0])
            count += not undone[1]
        self.failed = self.failed or bool(count and not self._dry_run)
        return count

    def close(self) -> None:
        """Ends connections."""
        if self._of_target:
            self._of_target.close()


def command_of(path: Path) -> str:
    """The command that works a ledger off."""
    target = next((each["target"] for each in records(path) if "target" in each), "TARGET")
    words = target if target.startswith("-- ") else shlex.quote(target)
    return f"refimpl sweep {path.name.partition('-')[0]} {words}"
