"""Scripts of a shell, as text: what they ask, and in what steps."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

__all__ = ["asks", "is_shell", "loop_of", "script_of", "steps", "too_much"]

_SHELLS = ("sh", "bash", "ash")
_ASKS = re.compile(r"\$\(|(^|[;&\n])\s*(\[|cat|env|hostname|id|ls|pwd|test|touch)\s")
_KEYWORDS = re.compile(r"(^|[;&|\n])\s*(while|for|until|if|case|trap|kill)\b|(?<!\|)\|(?!\|)")
_LOOP = re.compile(r"(?P<before>.*?)\bwhile\s+(?:true|:)\s*;\s*do\s(?P<body>.*?);?\s*done\s*", re.S)
_WRITES_NOW_AND_THEN = re.compile(r"(?=.*\b(echo|printf)\b).*\bsleep\b", re.S)


def is_shell(command: Sequence[str]) -> bool:
    """Whether its program is a shell."""
    return command[0].rpartition("/")[2] in _SHELLS


def script_of(command: Sequence[str]) -> str | None:
    """The text behind -c of a shell."""
    if is_shell(command) and "-c" in command[1:-1]:
        return command[command.index("-c") + 1]
    return None


def asks(command: Sequence[str]) -> bool:
    """Whether it is a script, of what a shell here understands, that needs to know the world that
    it runs in, or writes again and again; so does a program that shows files."""
    if command[0].rpartition("/")[2] == "cat" and len(command) > 1:
        return True
    text = script_of(command)
    if text is None:
        return False
    if loop := loop_of(text):
        return bool(_WRITES_NOW_AND_THEN.match(loop[1])) and not too_much(loop[1])
    return bool(_ASKS.search(text)) and not too_much(text)


def loop_of(text: str) -> tuple[str, str] | None:
    """What is before a loop without an end, and what is in it."""
    found = _LOOP.fullmatch(text)
    return (found["before"], found["body"]) if found else None


def too_much(text: str) -> bool:
    """Whether it has what a shell here does not understand."""
    return _KEYWORDS.search(text) is not None


def steps(text: str) -> Iterator[tuple[str, list[str]]]:
    """What ends a step, and its words."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        for token in lexer:
            if token in (";", "&&", "||", "&"):
                yield token, words
                words = []
            else:
                words.append(token)
    except ValueError:  # a quote that nobody closes
        words = []
    yield ";", words
