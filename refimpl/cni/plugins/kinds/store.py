"""Reserved addresses in a directory: a file an address that says whose it is, as host-local does.

The file is named by the address and holds container id and interface name, CR LF between them;
`lock` is locked by flock, so that a killed plugin never blocks the next; `last_reserved_ip.N` holds
what range set N gave away last.
"""

from __future__ import annotations

import os

from refimpl.cni.format.addresses import address, text
from refimpl.cni.format.errors import IO, CniError
from refimpl.cni.format.files import content

TYPE_CHECKING = False
if TYPE_CHECKING:
    Key = tuple[str, str]
    Address = tuple[int, int]

__all__ = ["Store"]

# Never through a link, that would be another file of the machine, nor to a FIFO, which has to be
# waited for.
_LOCK = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Store:
    """The store of one network. As a context manager it holds the lock."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.scratch = ".new"
        """The file that an entry is written to before it has its name; one under the lock."""
        self._lock = -1

    def exists(self) -> bool:
        """Whether anything was ever reserved here."""
        return os.path.isdir(self.folder)

    def make(self) -> None:
        """Makes the directory. Raises CniError."""
        try:
            os.makedirs(self.folder, 0o755, exist_ok=True)
        except OSError as error:
            raise self._failure("made", error) from None

    def __enter__(self) -> Store:
        import fcntl

        try:
            self._lock = os.open(self.path("lock"), _LOCK, 0o644)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            raise self._failure("locked", error) from None
        return self

    def __exit__(self, *rest: object) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def path(self, name: str) -> str:
        """The path of a file in the store."""
        return os.path.join(self.folder, name)

    def _failure(self, verb: str, error: OSError) -> CniError:
        return CniError(IO, f"the store {self.folder} cannot be {verb}: {error.strerror}")

    def names(self) -> list[str]:
        """The names of all files; none without a directory. Raises CniError."""
        try:
            return os.listdir(self.folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._failure("read", error) from None

    def entries(self) -> dict[Address, tuple[str, Key | None]]:
        """Every file named by an address: its name and whose it is ("" as ifname in entries of old
        versions, None where that cannot be read)."""
        entries: dict[Address, tuple[str, Key | None]] = {}
        for name in self.names():
            try:
                place = address(name)
            except ValueError:
                continue
            entries[place] = (name, self._owner(name))
        return entries

    def _owner(self, name: str) -> Key | None:
        try:
            # host-local waits for a FIFO among its entries, too: CNI-PLG-114 stops plugins there.
            with open(self.path(name), "rb") as file:
                lines = file.read(65536).decode(errors="surrogateescape").split("\n")
        except OSError:
            return None
        return (lines[0].strip(), lines[1].strip() if len(lines) > 1 else "") if lines[0] else None

    def take(self, place: Address, key: Key) -> None:
        """Reserves an address, as a whole or not at all. The lock is held. Raises CniError."""
        owner = f"{key[0]}\r\n{key[1]}".encode(errors="surrogateescape")
        self._write(text(*place), owner)

    def latest(self, number: int) -> int | None:
        """What range set `number` gave away last."""
        try:
            given = content(self.path(f"last_reserved_ip.{number}"))
            return address(given.decode().strip())[1]
        except (OSError, ValueError):
            return None

    def remember(self, number: int, place: Address) -> None:
        """Notes what range set `number` gave away last. Raises CniError."""
        self._write(f"last_reserved_ip.{number}", text(*place).encode())

    def _write(self, name: str, data: bytes) -> None:
        new = self.path(self.scratch)
        try:
            file = os.open(new, _NEW, 0o644)
            with open(file, "wb") as out:
                out.write(data)
            os.rename(new, self.path(name))
        except OSError as error:
            raise self._failure("written", error) from None

    def free(self, name: str) -> str:
        """Removes an entry; "" when it is gone, else why it is not."""
        try:
            os.unlink(self.path(name))
        except FileNotFoundError:
            pass
        except OSError as error:
            return f"{name}: {error.strerror}"
        return ""

    def sweep(self) -> None:
        """Removes what a killed plugin left of an entry that was never made. The lock is held."""
        self.free(".new")
