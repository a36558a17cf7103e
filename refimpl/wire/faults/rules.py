"""One rule: when a call is hit, and what then happens to it."""

from __future__ import annotations

import fnmatch
import random
import re
import threading
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field, frozen

from refimpl.wire.faults.actions import Action, Crash, Firing
from refimpl.wire.faults.gate import CallGate
from refimpl.wire.faults.where import Where

__all__ = ["ArmedRule", "FaultError", "FaultRule", "fits_method"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class FaultError(ValueError):
    """A rule that cannot be obeyed: which one, which field, what is allowed there."""


def _request(request: Mapping[str, Any] | Callable[[Any], bool] | None) -> Any:
    return Where(request) if isinstance(request, Mapping) else request


def _numbers(numbers: int | tuple[int, ...] | list[int]) -> tuple[int, ...]:
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


@frozen(kw_only=True)
class FaultRule:
    """An action, and the calls it is for; all conditions must hold. Raises FaultError.

    `method` is a glob on the RPC's name ("CreateVolume", "Node*") or, with a slash in it, on the
    full name ("/csi.v1.Node/*"). `request` is a predicate, or a mapping of dotted paths to values
    or globs. Of the calls that fit, counted from 1, all are hit, or the `nth` (one or several),
    or each `every`-th, or each with `probability`, drawn from `seed`; at most `times` of them.
    """

    do: Action
    id: str = ""
    line: int | None = field(default=None, eq=False)
    method: str = "*"
    request: Callable[[Any], bool] | None = field(default=None, converter=_request)
    nth: tuple[int, ...] = field(default=(), converter=_numbers)
    every: int | None = None
    probability: float | None = None
    seed: int | None = None
    times: int | None = None

    def __attrs_post_init__(self) -> None:
        for holds, sentence in self._checks():
            if not holds:
                raise FaultError(f"{self.title}: {sentence}")

    @property
    def title(self) -> str:
        """How errors name the rule: its id and, where it came from a file, the line."""
        line = f"line {self.line}: " if self.line else ""
        return f"{line}rule {self.id or 'without an id'}"

    def _checks(self) -> list[tuple[bool, str]]:
        turns = {"nth": self.nth or None, "every": self.every, "probability": self.probability}
        chosen = [name for name, value in turns.items() if value is not None]
        chance = 1.0 if self.probability is None else self.probability
        narrowed = self.method != "*" or self.request is not None
        return [
            (not self.id or bool(_ID.fullmatch(self.id)), "id: 1 to 64 of A-Z a-z 0-9 . _ -"),
            (bool(self.method), "when.method: is empty, write a name or a glob"),
            (len(chosen) < 2, f"when: {' and '.join(chosen)} exclude each other, give one"),
            (all(n >= 1 for n in self.nth), "when.nth: calls are counted from 1"),
            (self.every is None or self.every >= 1, "when.every: must be 1 or more"),
            (0.0 <= chance <= 1.0, f"when.probability: {chance} is not within 0 and 1"),
            (self.seed is None or self.probability is not None, "when.seed: needs probability"),
            (self.times is None or self.times >= 1, "when.times: must be 1 or more"),
            (
                not (isinstance(self.do, Crash) and narrowed),
                "when: a crash point is no call, so method and request do not apply to it",
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The rule as YAML would state it; a Python predicate is only named."""
        when: dict[str, Any] = {"method": self.method} if self.method != "*" else {}
        if self.request is not None:
            request = self.request
            when["request"] = request.to_dict() if isinstance(request, Where) else repr(request)
        when |= {"nth": list(self.nth)} if self.nth else {}
        for name in ("every", "probability", "seed", "times"):
            value = getattr(self, name)
            when |= {} if value is None else {name: value}
        return {"id": self.id, "when": when, "do": {self.do.name: self.do.to_dict()}}


@define(eq=False)
class ArmedRule:
    """A rule in use: its counters, its random numbers, and the calls it holds. Thread-safe."""

    rule: FaultRule
    seen: int = 0
    fired: int = 0
    gate: CallGate = field(factory=CallGate)
    _lock: threading.Lock = field(factory=threading.Lock)
    _random: random.Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        seed = self.rule.seed
        self._random = random.Random(zlib.crc32(self.rule.id.encode()) if seed is None else seed)

    def fire(self) -> Action | None:
        """Counts a call that fits, and returns what to do with it, if it is its turn."""
        with self._lock:
            self.seen += 1
            if not self._turn() or self.fired == self.rule.times:
                return None
            self.fired += 1
            spread = self._random.gauss(0.0, 1.0)
        return self.rule.do.fired(Firing(self.rule.id, self.gate, spread))

    def _turn(self) -> bool:
        rule = self.rule
        if rule.nth:
            return self.seen in rule.nth
        if rule.every is not None:
            return self.seen % rule.every == 0
        return rule.probability is None or self._random.random() < rule.probability


def fits_method(pattern: str, method: str) -> bool:
    """Whether the glob means the RPC: its name, or with a slash in the glob its full name.

    `method` is "/package.Service/Name"; a pattern may leave out the first slash.
    """
    if "/" not in pattern:
        return fnmatch.fnmatchcase(method.rpartition("/")[2], pattern)
    return fnmatch.fnmatchcase(method, pattern) or fnmatch.fnmatchcase(method, f"/{pattern}")
