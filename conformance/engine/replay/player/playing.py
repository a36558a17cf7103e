"""Plays calls on record once more, whatever they are made with."""

from __future__ import annotations

import secrets
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Call = Mapping[str, Any]
Answer = tuple[str, str, Any]
Ask = Callable[[Call, Any], Answer]

AS_THEN, OTHERWISE, UNUSABLE = 1, 0, 2
"""Exit codes; 2 also where the script itself breaks."""


class Names:
    """What stands now for the names of then: parts of a text, such as a folder, and whole texts
    that replies have told."""

    def __init__(self, parts: Mapping[str, str]) -> None:
        self._parts, self._texts = dict(parts), dict[str, str]()

    def learn(self, then: Any, now: Any) -> None:
        """Takes from a reply what it tells in the place of what it told then."""
        if isinstance(then, dict) and isinstance(now, dict):
            for key in then.keys() & now.keys():
                self.learn(then[key], now[key])
        elif isinstance(then, list) and isinstance(now, list):
            for each, other in zip(then, now, strict=False):
                self.learn(each, other)
        elif isinstance(then, str) and isinstance(now, str) and then != now:
            self._texts[then] = now

    def now(self, value: Any) -> Any:
        """The value with the names of now."""
        if isinstance(value, dict):
            return {self.now(key): self.now(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.now(each) for each in value]
        if not isinstance(value, str):
            return value
        text = self._texts.get(value, value)
        for then, now in self._parts.items():
            text = text.replace(then, now)
        return text


def fresh() -> str:
    """A word that nobody else has for a name."""
    return secrets.token_hex(5)


def outline(value: Any) -> Any:
    """A reply as far as two runs can be compared by it: what is there, not how it is called."""
    if isinstance(value, dict):
        return {key: outline(each) for key, each in sorted(value.items())}
    if isinstance(value, list):
        return [outline(each) for each in value]
    return "a text" if isinstance(value, str) else value


def play(calls: Sequence[Call], ask: Ask, names: Names) -> bool:
    """Makes the calls in order and prints how each ends; whether they end as they did: all with the
    same code, and the last with the same reply, as a finding may be about any of them."""
    alike, same_reply = True, False
    for number, call in enumerate(calls, 1):
        code, words, reply = ask(call, names.now(call["request"]))
        alike = alike and code == call["code"]
        same_reply = outline(reply) == outline(call["reply"])
        names.learn(call["reply"], reply)
        then = "" if code == call["code"] else f"   (then: {call['code']})"
        print(f"{number:>4} {call['name']} -> {code} {words[:200]}{then}", flush=True)
    return alike and same_reply


def undo(calls: Sequence[Call], ask: Ask, names: Names) -> None:
    """Makes calls whose end does not matter."""
    for call in calls:
        ask(call, names.now(call["request"]))


def tell(alike: bool, finding: Mapping[str, str]) -> int:
    """Prints the finding and what became of its calls; the exit code."""
    for label, text in finding.items():
        print(f"{label + ':':8} {text}")
    print("the calls end as they did" if alike else "the calls end in another way")
    return AS_THEN if alike else OTHERWISE


def run(main: Callable[[Mapping[str, Any], Sequence[str]], int], record: Mapping[str, Any]) -> None:
    """Ends the script with what `main` returns."""
    try:
        status = main(record, sys.argv[1:])
    except Exception:
        traceback.print_exc()  # Python's own exit code would say that it ends as it did
        status = UNUSABLE
    sys.exit(status)
