"""Where the ledgers of runs lie, so that the leftovers of a killed run can be found again."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from pathlib import Path

from conformance.engine.ledger.file import UnreadableLedger, held
from conformance.engine.ledger.leftovers import Leftovers
from conformance.engine.options import Options
from conformance.engine.runid import worker
from conformance.engine.targets.resolve import resolve
from refimpl import files


def home() -> Path:
    """$XDG_STATE_HOME/refimpl/ledgers; a temporary folder where that cannot be written, or is not
    this user's: what stands in a ledger is removed, so nobody else may write one. Raises OSError.
    """
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


def ledgers(interface: str, target: str) -> list[Path]:
    """The ledgers that runs against this target have left, oldest first."""
    return sorted(home().glob(f"{interface}-{_short(target)}-*.jsonl"))


def _short(target: str) -> str:
    return hashlib.sha256(target.encode()).hexdigest()[:12]


def sweep(options: Options, *, dry_run: bool = False) -> tuple[list[str], bool]:
    """Undoes what killed runs left; returns what was done, line by line, and whether any failed.

    Raises BadOption, or wire.client.Unreachable. A ledger goes when all of it is undone.
    """
    resolved = resolve(options, options.interface)
    paths = ledgers(options.interface, options.target)
    if not paths:
        return [f"nothing to do: no killed run against {options.target} is on record"], False
    leftovers = resolved.leftovers()
    lines_done: list[str] = []
    failed = False
    try:
        for path in paths:
            try:
                lines, left = _worked_off(leftovers, path, dry_run)
            except (OSError, UnreadableLedger) as error:
                lines, left = [f"left alone: {error}"], True
            lines_done += [f"{path.name}: {line}" for line in lines]
            failed = failed or (left and not dry_run)
    finally:
        leftovers.close()
    return lines_done, failed


def _worked_off(leftovers: Leftovers, path: Path, dry_run: bool) -> tuple[list[str], bool]:
    """What was done about one ledger, and whether something of it is left to do. Raises OSError,
    UnreadableLedger; then nothing was done."""
    with held(path) as ended:
        if not ended:
            return ["left alone, its run is still going"], False
        lines, left = _swept(leftovers, path, dry_run)
        if not left and not dry_run:
            path.unlink()
        return lines, bool(left)


def _swept(leftovers: Leftovers, path: Path, dry_run: bool) -> tuple[list[str], int]:
    """What was done about one ledger, and how much of it is left."""
    lines, left = [], 0
    for entry in leftovers.left_by(path):
        line, done = (f"would undo {entry}", False) if dry_run else leftovers.undo(entry)
        lines.append(line)
        left += not done
    return lines, left
