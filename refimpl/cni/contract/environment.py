"""The environment of a plugin: which variables each verb has, and what they may hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from refimpl.cni.contract.problem import Kind, Problem, ShapeError
from refimpl.cni.contract.versions import LATEST, Verb, at_least
from refimpl.cni.format.names import ifname_problem, is_name

__all__ = [
    "TABLE",
    "env_problems",
    "format_args",
    "parse_args",
    "valid_container_id",
    "valid_ifname",
    "variables",
]

REQUIRED: Final = "required"
OPTIONAL: Final = "optional"
_R, _O = REQUIRED, OPTIONAL
_ATTACHMENT = {"CNI_CONTAINERID": _R, "CNI_NETNS": _R, "CNI_IFNAME": _R}

# CNI SPEC section 2, parameters, and the paragraph of each verb; what is not listed is not used.
TABLE: Mapping[Verb, Mapping[str, str]] = {
    Verb.ADD: {"CNI_COMMAND": _R, **_ATTACHMENT, "CNI_ARGS": _O, "CNI_PATH": _O},
    # An empty or absent CNI_NETNS on DEL: the namespace is gone already.
    Verb.DEL: {"CNI_COMMAND": _R, **_ATTACHMENT, "CNI_NETNS": _O, "CNI_ARGS": _O, "CNI_PATH": _O},
    Verb.CHECK: {"CNI_COMMAND": _R, **_ATTACHMENT, "CNI_ARGS": _O, "CNI_PATH": _O},
    Verb.STATUS: {"CNI_COMMAND": _R, "CNI_PATH": _O},
    Verb.GC: {"CNI_COMMAND": _R, "CNI_PATH": _R},
    Verb.VERSION: {"CNI_COMMAND": _R},
}
_ALL = tuple(TABLE[Verb.ADD])


def variables(
    verb: str,
    *,
    container_id: str = "",
    netns: str = "",
    ifname: str = "",
    args: str = "",
    path: str = "",
) -> dict[str, str]:
    """The CNI variables of one call: those the verb uses, without the empty ones.

    A verb nobody knows gets all of them. Nothing is checked: a test may want a broken call.
    """
    values = {
        "CNI_COMMAND": str(verb),
        "CNI_CONTAINERID": container_id,
        "CNI_NETNS": netns,
        "CNI_IFNAME": ifname,
        "CNI_ARGS": args,
        "CNI_PATH": path,
    }
    used: Mapping[str, str] = TABLE[Verb(verb)] if verb in TABLE else values
    return {name: value for name, value in values.items() if value and name in used}


def env_problems(verb: str, env: Mapping[str, str], *, version: str = LATEST) -> list[Problem]:
    """Every way in which the CNI variables of `env` are not what the verb demands.

    A variable the verb does not use may be empty. Before 0.4.0 no container id is needed.
    Raises ValueError for a `version` that is none.
    """
    if verb not in TABLE:
        known = ", ".join(TABLE)
        return [Problem("/CNI_COMMAND", f"wanted one of {known}, got {verb!r}", Kind.VALUE)]
    problems = []
    for name in _ALL:
        need = TABLE[Verb(verb)].get(name)
        if name == "CNI_CONTAINERID" and need and not at_least(version, "0.4.0"):
            need = OPTIONAL
        problems += _variable(Verb(verb), name, need, env.get(name, ""))
    return problems


def _variable(verb: Verb, name: str, need: str | None, value: str) -> list[Problem]:
    if need is None:
        text = f"{verb} does not use it; leave it out, got {value!r}"
        return [Problem(f"/{name}", text, Kind.FOREIGN)] if value else []
    if not value:
        text = f"{verb} needs it; set it to {_WANTED[name]}"
        return [Problem(f"/{name}", text, Kind.MISSING)] if need == REQUIRED else []
    if name == "CNI_COMMAND" and value != verb:
        return [Problem(f"/{name}", f"wanted {verb.value!r}, got {value!r}", Kind.VALUE)]
    if name == "CNI_ARGS":
        return _args_problems(value)
    if name in _RULES and not _RULES[name](value):
        return [Problem(f"/{name}", f"wanted {_WANTED[name]}, got {value!r}", Kind.FORMAT)]
    return []


def valid_container_id(text: str) -> bool:
    """A letter or digit, then letters, digits, "_", "." and "-"; no limit of length."""
    return is_name(text)


def valid_ifname(text: str) -> bool:
    """A name that Linux takes: 1 to 15 bytes, not "." or "..", no "/", ":" or white space."""
    return not ifname_problem(text)


_RULES = {"CNI_CONTAINERID": valid_container_id, "CNI_IFNAME": valid_ifname}
_WANTED = {
    "CNI_COMMAND": "the verb",
    "CNI_CONTAINERID": 'an id that starts with a letter or digit and goes on with these, "_", '
    '"." and "-"',
    "CNI_NETNS": "the path of the network namespace",
    "CNI_IFNAME": 'a name of 1 to 15 bytes without "/", ":" and white space, not "." or ".."',
    "CNI_PATH": "the directories of the plugins",
}


def parse_args(text: str) -> list[tuple[str, str]]:
    """The pairs of a CNI_ARGS text "K=V;K=V", in its order; none for the empty text.

    Raises ShapeError for a piece without exactly one "=", an empty key, and so for a trailing ";".
    """
    problems = _args_problems(text)
    if problems:
        raise ShapeError("a CNI_ARGS text", problems)
    pieces = (piece.partition("=") for piece in text.split(";") if text)
    return [(key, value) for key, _, value in pieces]


def _args_problems(text: str) -> list[Problem]:
    pieces = text.split(";") if text else []
    return [
        Problem("/CNI_ARGS", f"wanted KEY=VALUE pairs with ';' between, got {piece!r}", Kind.FORMAT)
        for piece in pieces
        if piece.count("=") != 1 or piece.startswith("=")
    ]


def format_args(pairs: Iterable[tuple[str, str]]) -> str:
    """The CNI_ARGS text of the pairs; `parse_args` reads the same pairs from it.

    Raises ValueError for an empty key, or a key or value with ";" or "=": no escape exists.
    """
    pieces = []
    for key, value in pairs:
        if not key or any(mark in key + value for mark in ";="):
            raise ValueError(
                f"CNI_ARGS pair {key!r}={value!r}: a key must not be empty, and neither part may "
                "hold ';' or '=', which CNI_ARGS cannot escape; change or leave out the pair"
            )
        pieces.append(f"{key}={value}")
    return ";".join(pieces)
