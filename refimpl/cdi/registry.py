"""Which definition a device name stands for. Plain data: files come in, names are resolved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import attrs

from refimpl.cdi.findings import Finding
from refimpl.cdi.model import ContainerEdits, Device, Spec
from refimpl.cdi.names import BadName, QualifiedName


class Unresolved(ValueError):
    """Requested devices that cannot be resolved: `names` in the order of the request; the text
    gives the reason for each.
    """

    def __init__(self, reasons: Mapping[str, str]) -> None:
        self.names = tuple(reasons)
        self.reasons = dict(reasons)
        super().__init__("unresolvable CDI devices: " + "; ".join(reasons.values()))


@attrs.frozen
class SpecFile:
    """A file and what came of it. `priority` is that of its directory, higher ones win; `spec` is
    None where a finding is an error.
    """

    path: str
    priority: int
    spec: Spec | None
    findings: tuple[Finding, ...] = ()


@attrs.frozen
class DeviceEntry:
    """A device that can be requested, and where it is defined."""

    name: str
    device: Device
    spec: Spec
    path: str
    priority: int


class Registry:
    """Devices by qualified name.

    The definition of the highest priority counts; two of the same priority make the device
    unusable, unless a higher one settles it. `problems`: path of a file or directory to what is
    wrong with it, sound ones left out; a problem of one file leaves all other devices alone.
    """

    def __init__(
        self, files: Iterable[SpecFile] = (), directory_errors: Mapping[str, str] | None = None
    ) -> None:
        self.files = tuple(files)
        self.problems: dict[str, list[str]] = {}
        for directory, error in (directory_errors or {}).items():
            self.problems[directory] = [error]
        self._entries: dict[str, DeviceEntry] = {}
        self._conflicts: dict[str, tuple[str, ...]] = {}
        self._settle(self._defined())

    @property
    def names(self) -> tuple[str, ...]:
        """The qualified names of all devices that can be requested, sorted."""
        return tuple(sorted(self._entries))

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The specifications that loaded, in the order of priority and file name."""
        return tuple(file.spec for file in self.files if file.spec is not None)

    def get(self, name: str) -> DeviceEntry | None:
        """The device of that qualified name."""
        return self._entries.get(name)

    def resolve(self, names: Iterable[str]) -> list[DeviceEntry]:
        """The devices in the order of the request. Raises Unresolved naming every missing one."""
        requested = list(names)
        missing = {name: self.why_not(name) for name in requested if name not in self._entries}
        if missing:
            raise Unresolved(missing)
        return [self._entries[name] for name in requested]

    def edits(self, names: Iterable[str], *, unique: bool = True) -> ContainerEdits:
        """Everything that the devices change: the edits of a file before those of its first
        device, once. `unique`: a name given twice counts once. Raises Unresolved.
        """
        total, files = ContainerEdits(), set()
        for entry in self.resolve(dict.fromkeys(names) if unique else names):
            if (entry.path, entry.priority) not in files:
                files.add((entry.path, entry.priority))
                total += entry.spec.container_edits
            total += entry.device.container_edits
        return total

    def why_not(self, name: str) -> str:
        """Why a name cannot be requested, "" if it can."""
        if name in self._entries:
            return ""
        if name in self._conflicts:
            return f"{name} is defined by {' and '.join(self._conflicts[name])}; remove one of them"
        try:
            kind = QualifiedName.parse(name).kind
        except BadName as error:
            return str(error)
        kinds = sorted({spec.kind for spec in self.specs})
        if kind not in kinds:
            return f"{name}: no file defines the kind {kind} (known: {', '.join(kinds) or 'none'})"
        return f"{name}: the kind {kind} is known, but has no such device"

    def _defined(self) -> dict[str, list[DeviceEntry]]:
        defined: dict[str, list[DeviceEntry]] = defaultdict(list)
        for file in self.files:
            errors = [str(finding) for finding in file.findings if finding.level == "error"]
            if errors:
                self.problems[file.path] = errors
            if file.spec is None:
                continue
            for device in file.spec.devices:
                name = file.spec.qualified(device)
                defined[name].append(DeviceEntry(name, device, file.spec, file.path, file.priority))
        return defined

    def _settle(self, defined: Mapping[str, list[DeviceEntry]]) -> None:
        for name, entries in defined.items():
            highest = entries
            if len(entries) > 1:
                levels: dict[int, list[DeviceEntry]] = defaultdict(list)
                for entry in entries:
                    levels[entry.priority].append(entry)
                for rivals in levels.values():
                    self._note_conflict(name, rivals)
                highest = levels[max(levels)]
            if len(highest) == 1:
                self._entries[name] = highest[0]
            else:
                self._conflicts[name] = tuple(entry.path for entry in highest)

    def _note_conflict(self, name: str, rivals: list[DeviceEntry]) -> None:
        for entry in rivals if len(rivals) > 1 else ():
            others = " and ".join(rival.path for rival in rivals if rival is not entry)
            problem = f"{name} is defined by {others}, too; keep one"
            self.problems.setdefault(entry.path, []).append(problem)
