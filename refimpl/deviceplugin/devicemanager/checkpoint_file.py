"""The checkpoint file of a kubelet: read at its start, written after each change (2.9)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from refimpl import files
from refimpl.deviceplugin import codec
from refimpl.deviceplugin.state.checkpoint import FILE_MODE, Saved, Unreadable, dump, load

__all__ = ["CheckpointFile", "read"]

_ENCODER = msgspec.json.Encoder()


def read(path: Path, *, flat_ids: bool = True) -> Saved | None:
    """The checkpoint at a path, ours or a real kubelet's; None where there is none.

    Raises Unreadable. `flat_ids`: see `state.checkpoint.load`.
    """
    try:
        data = files.read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(f"the file cannot be read: {error.strerror}") from error
    return load(data, codec.from_bytes, flat_ids=flat_ids)


class CheckpointFile:
    """Writes what `saved` says to `path`. `note` is told of a write that nobody waits for and that
    fails, once until one works again."""

    def __init__(
        self, path: Path, saved: Callable[[], Saved], note: Callable[[str], object]
    ) -> None:
        self.path, self._saved, self._note = path, saved, note
        self._writing = threading.Lock()
        self._due = threading.Event()
        self._ending = False
        self._failed = False
        self._thread = threading.Thread(target=self._run, name="refimpl-checkpoint", daemon=True)
        self._thread.start()

    def write(self) -> None:
        """Replaces the file as a whole. Raises OSError."""
        with self._writing:
            self._due.clear()
            content = _ENCODER.encode(dump(self._saved(), codec.to_bytes))
            files.replace(self.path, content, FILE_MODE)

    def soon(self) -> None:
        """Has it written by another thread: after a list, where nothing hangs on the outcome."""
        self._due.set()

    def close(self) -> None:
        """Ends after what is due. May be called twice."""
        self._ending = True
        pending = self._due.is_set()
        self._due.set()
        self._thread.join()
        if pending:
            self._try()

    def _run(self) -> None:
        while self._due.wait() and not self._ending:
            self._try()

    def _try(self) -> None:
        try:
            self.write()
        except OSError as error:
            if not self._failed:
                self._note(
                    f"the checkpoint {self.path} could not be written: {error.strerror}; devices"
                    " are known in memory only"
                )
            self._failed = True
        else:
            self._failed = False
