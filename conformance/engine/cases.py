"""The cases there are, found by importing the suites: what `list`, `explain` and the pages show."""

from __future__ import annotations

import difflib
import fnmatch
import importlib
import importlib.util
import inspect
import pkgutil
import re
import textwrap
import tomllib
from collections.abc import Iterator
from typing import Any

import attrs

from conformance.engine import catalogue, fixtures
from conformance.engine.case import Case, case_of
from conformance.engine.interfaces import ALL, interface, named, side_of
from conformance.engine.options import BadOption


@attrs.frozen
class Found:
    """A case and the function behind it."""

    case: Case
    function: Any

    @property
    def calls(self) -> list[str]:
        """The RPCs that its source names, in that order."""
        names = re.findall(r"\.\w+\.([A-Z]\w+)\b", inspect.getsource(self.function))
        known = _rpcs(self.case.interface)
        return list(dict.fromkeys(name for name in names if name in known))


def _rpcs(name: str) -> frozenset[str]:
    """The RPCs of an interface, by its suite; none where it has none."""
    package = interface(name).package
    if not importlib.util.find_spec(f"{package}.rpcs"):
        return frozenset()
    return frozenset(rpc.name for rpc in importlib.import_module(f"{package}.rpcs").every())


_FOUND: dict[str, dict[str, Found]] = {}


def imported(name: str) -> dict[str, Found] | None:
    """What `found` has found in this process; None where nobody has asked."""
    return _FOUND.get(name)


def forget(name: str) -> None:
    """Has `found` look again, where the modules of an interface are others now."""
    _FOUND.pop(name, None)


def found(name: str) -> dict[str, Found]:
    """Every case of an interface by id, sorted; two cases of one id are an error."""
    if name not in _FOUND:
        _FOUND[name] = _search(name)
    return _FOUND[name]


def _search(name: str) -> dict[str, Found]:
    cases: dict[str, Found] = {}
    for module in _modules(interface(name).package):
        for function in vars(module).values():
            case = case_of(function)
            if case and function.__module__ == module.__name__:
                if case.id in cases:
                    raise BadOption(f"{case.id} is implemented twice: {module.__name__}")
                cases[case.id] = Found(case, function)
    return dict(sorted(cases.items()))


def _modules(package: str) -> Iterator[Any]:
    root = importlib.import_module(f"{package}.cases")
    for info in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        if info.name.rpartition(".")[2].startswith("test_"):
            yield importlib.import_module(info.name)


def all_cases(name: str = ALL) -> list[Found]:
    """The cases of one interface, or of all; raises BadOption for an unknown one."""
    return [case for each in named(name) for case in found(each.name).values()]


def record(entry: Found) -> dict[str, Any]:
    """A case as `refimpl list --json` prints it."""
    case = entry.case
    return {
        "id": case.id,
        "interface": case.interface,
        "level": case.level.name,
        "title": case.title,
        "source": case.source,
        "section": catalogue.section(case.id),
        "needs": [str(need) for need in case.needs],
        "side": side_of(case.id),
    }


def explanation(id: str) -> str:
    """Rule, why it matters, source, what it calls, who is known to differ; raises BadOption."""
    everything = {entry.case.id: entry for entry in all_cases()}
    if id not in everything:
        raise BadOption(_unknown(id, list(everything)))
    entry = everything[id]
    case = entry.case
    facts = {
        "rule": case.title,
        "why": " ".join(case.why.split()),
        "level": case.level.name,
        "source": case.source,
        "section": catalogue.section(id),
        "needs": ", ".join(map(str, case.needs)) or "nothing",
        "calls": ", ".join(entry.calls) or "see the source",
        "differs": "; ".join(deviations(id)) or "no target is known to",
        "code": f"{entry.function.__module__}.{entry.function.__name__}",
    }
    lines = [id]
    for name, text in facts.items():
        lines += textwrap.wrap(text, 78, initial_indent=f"  {name:8}", subsequent_indent=" " * 10)
    return "\n".join(lines)


def _unknown(id: str, known: list[str]) -> str:
    waiting = catalogue.deferred().items()
    reason = next((why for glob, why in waiting if fnmatch.fnmatchcase(id, glob)), "")
    if reason and catalogue.section(id):
        return f"{id} has no case yet: {reason}"
    near = difflib.get_close_matches(id, known, 1)
    return f"there is no case {id}" + (f"; did you mean {near[0]}?" if near else "")


def deviations(id: str) -> list[str]:
    """`target: reason` for every expectation file of ours that lists the case."""
    lines = []
    for path in sorted((fixtures.folder() / "expectations").glob("*.toml")):
        table = tomllib.loads(path.read_text())
        lines += [
            f"{table['target']}: {row['reason']}"
            for row in table.get("known", ())
            if row["id"] == id
        ]
    return lines
