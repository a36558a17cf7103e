"""Network configurations that a case puts into the folder of a runtime."""

from __future__ import annotations

from pathlib import Path

from conformance.engine.ledger.entries import FILE, Ledger
from conformance.engine.scope import CaseScope

__all__ = ["NetworkFiles"]


class NetworkFiles:
    """Files of one case; they go with its scope."""

    def __init__(self, conf_dir: Path, run_id: str, ledger: Ledger, scope: CaseScope) -> None:
        self._folder, self._ours = conf_dir, f"00-refimpl-{run_id}"
        self._ledger = ledger
        self._paths: set[Path] = set()
        scope.callback(self._discard)

    def path(self, number: int = 1) -> Path:
        """Of the file of that number; it sorts before all that are not ours."""
        names = [each.name for each in self._folder.iterdir()]
        others = [name for name in names if not name.startswith(self._ours)]
        first = min([*others, "1"])
        lead = next((lead for lead in ("", "!", "!!") if lead + self._ours < first), "!")
        return self._folder / f"{lead}{self._ours}-{number}.conflist"

    def write(self, data: bytes, path: Path | None = None) -> Path:
        """Writes a file, there at once and whole; the first one unless another is named."""
        place = path or self.path()
        self.making(place)
        new = place.with_name(f".{place.name}.new")
        new.write_bytes(data)
        new.rename(place)
        return place

    def making(self, path: Path) -> None:
        """Notes a file that a case is about to make by itself."""
        self._paths.add(path)
        self._ledger.making(FILE, path)

    def _discard(self) -> None:
        for path in self._paths:
            self._ledger.discard(path)
