"""The rules in force: an ordered list that may change while calls run through it."""

from __future__ import annotations

import fnmatch
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import attrs
from google.protobuf.descriptor import ServiceDescriptor

from refimpl.wire.faults.actions import Action, Crash
from refimpl.wire.faults.check import check_rule
from refimpl.wire.faults.config import read_rules
from refimpl.wire.faults.rules import ArmedRule, FaultError, FaultRule, fits_method

__all__ = ["CRASH_EXIT_CODE", "Faults"]

CRASH_EXIT_CODE = 137
"""What a shell reports for a process ended by SIGKILL, which a crash stands for."""

_METHODS_KEPT = 1024
_PROBLEMS_KEPT = 100


class Faults:
    """Decides for each call which actions hit it. All methods are thread-safe.

    Rules are tried in order and several may act on one call; a rule that settles the call's fate
    (status, close, drop_reply) hides it from those behind, which then do not count it either.
    `exit` ends the process at a crash point, `report` is given sentences about rules that could
    not be applied (by default they go to stderr).
    """

    def __init__(
        self,
        rules: Iterable[FaultRule] = (),
        *,
        exit: Callable[[int], object] = os._exit,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._rules: tuple[ArmedRule, ...] = ()
        self._by_method: dict[str, tuple[ArmedRule, ...]] = {}
        self._services: tuple[ServiceDescriptor, ...] = ()
        self._numbered = 0
        self._exit = exit
        self._report = report or _to_stderr
        self._problems: deque[str] = deque(maxlen=_PROBLEMS_KEPT)
        self.add(*rules)

    @classmethod
    def from_yaml(cls, text: str | bytes, **options: Any) -> Faults:
        """Faults from YAML or JSON (docs/faults.md). Raises FaultError with line, rule, field."""
        return cls(read_rules(text), **options)

    @property
    def rules(self) -> tuple[FaultRule, ...]:
        """The rules in force, in order."""
        return tuple(armed.rule for armed in self._rules)

    @property
    def problems(self) -> list[str]:
        """What could not be applied, each once, newest last; at most the last 100."""
        return list(self._problems)

    def check(self, services: Iterable[ServiceDescriptor]) -> None:
        """Makes known what is served, so that a rule for none of it is refused, now and later.

        Raises FaultError for a rule in force whose fields none of these methods has.
        """
        with self._lock:
            self._services = tuple(services)
            for armed in self._rules:
                check_rule(armed.rule, self._services)

    def add(self, *rules: FaultRule) -> list[str]:
        """Appends rules; returns their ids. Raises FaultError: an id twice, unknown fields."""
        with self._lock:
            armed = self._arm(rules, [rule.rule.id for rule in self._rules])
            self._use((*self._rules, *armed))
        return [rule.rule.id for rule in armed]

    def replace(self, rules: Iterable[FaultRule]) -> list[str]:
        """Puts these in place of all others, or changes nothing and raises FaultError."""
        with self._lock:
            old = self._rules
            armed = self._arm(rules, [])
            self._use(armed)
        _open(old)
        return [rule.rule.id for rule in armed]

    def remove(self, id: str) -> None:
        """Takes one rule away; calls it holds go on. Raises LookupError."""
        with self._lock:
            removed = [armed for armed in self._rules if armed.rule.id == id]
            if not removed:
                ids = ", ".join(armed.rule.id for armed in self._rules) or "none"
                raise LookupError(f"no rule has the id {id!r} (there are: {ids})")
            self._use(tuple(armed for armed in self._rules if armed.rule.id != id))
        _open(removed)

    def clear(self) -> None:
        """Takes all rules away; calls they hold go on."""
        self.replace(())

    def decide(self, method: str, request: object) -> tuple[Action, ...]:
        """The actions that hit this call, in order; `request` is a message, bytes or None."""
        if not self._rules:
            return ()
        hit: list[Action] = []
        for armed in self._for_method(method):
            action = armed.fire() if self._wanted(armed.rule, request) else None
            if action is not None:
                hit.append(action)
                if action.final:
                    break
        return tuple(hit)

    def point(self, name: str) -> None:
        """Marks a crash point: ends the process here if a rule's turn has come."""
        if not self._rules:
            return
        for armed in self._rules:
            crash = armed.rule.do
            if isinstance(crash, Crash) and fnmatch.fnmatchcase(name, crash.point):
                self._crash(armed, name)

    def release(self) -> None:
        """Ends the calls that rules hold at this moment, because the server stops."""
        for armed in self._rules:
            armed.gate.release()

    def to_dict(self) -> dict[str, Any]:
        """Rules, what each has seen and done so far, calls it holds now, and problems."""
        rules = self._rules
        counts = {
            armed.rule.id: {"seen": armed.seen, "fired": armed.fired, "holding": armed.gate.holding}
            for armed in rules
        }
        texts = [armed.rule.to_dict() for armed in rules]
        return {"rules": texts, "counts": counts, "problems": self.problems}

    def note(self, actions: Iterable[Action]) -> None:
        """Keeps and reports what the actions of a finished call could not do."""
        for action in actions:
            if action.note:
                self._problem(f"fault {action.label}")

    def _problem(self, sentence: str) -> None:
        if sentence not in self._problems:  # the same one may come with every call
            self._problems.append(sentence)
            self._report(sentence)

    def _arm(self, rules: Iterable[FaultRule], used_ids: Iterable[str]) -> tuple[ArmedRule, ...]:
        new, used = tuple(rules), set(used_ids)
        self._numbered = self._numbered if used else 0
        reserved = used | {rule.id for rule in new}
        armed = []
        for rule in new:
            rule_with_id = rule if rule.id else attrs.evolve(rule, id=self._free(reserved))
            if rule_with_id.id in used:
                raise FaultError(f"{rule_with_id.title}: id: another rule has it, ids are unique")
            check_rule(rule_with_id, self._services)
            used.add(rule_with_id.id)
            armed.append(ArmedRule(rule_with_id))
        return tuple(armed)

    def _free(self, used_ids: set[str]) -> str:
        self._numbered += 1
        while f"r{self._numbered}" in used_ids:
            self._numbered += 1
        return f"r{self._numbered}"

    def _use(self, rules: tuple[ArmedRule, ...]) -> None:
        # In this order: who reads the new table of methods must find the new rules.
        self._rules = rules
        self._by_method = {}

    def _for_method(self, method: str) -> tuple[ArmedRule, ...]:
        cache = self._by_method
        rules = cache.get(method)
        if rules is None:
            if len(cache) >= _METHODS_KEPT:
                cache.clear()
            rules = cache[method] = tuple(
                armed
                for armed in self._rules
                if fits_method(armed.rule.method, method) and not isinstance(armed.rule.do, Crash)
            )
        return rules

    def _wanted(self, rule: FaultRule, request: object) -> bool:
        if rule.request is None:
            return True
        try:
            return bool(rule.request(request))
        except Exception as error:  # a predicate is the user's code; the call must go on
            self._problem(f"fault {rule.id}: its predicate raised {error!r}, so it did not fire")
            return False

    def _crash(self, armed: ArmedRule, name: str) -> None:
        if armed.fire() is not None:
            self._report(f"fault {armed.rule.id}: crash at {name}")
            self._exit(CRASH_EXIT_CODE)


def _open(rules: Iterable[ArmedRule]) -> None:
    for armed in rules:
        armed.gate.open()


def _to_stderr(sentence: str) -> None:
    print(f"refimpl: {sentence}", file=sys.stderr, flush=True)
