"""The packet filter of a namespace as lines of text, each with the table and chain it stands in.

Rules are told by the programs that know them, `nft` and `iptables-save`, and only when something
changed: the kernel counts generations of its rules, and asking for the number costs microseconds.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from typing import Final

from refimpl.cni.host import netlink

__all__ = ["Firewall", "flat", "missing_tools"]

_GET_GENERATION: Final = 10 << 8 | 16  # NFNL_SUBSYS_NFTABLES, NFT_MSG_GETGEN
_GENERATION_ID: Final = 1  # NFTA_GEN_ID
_ANY_FAMILY: Final = bytes(4)  # nfgenmsg
_LEGACY: Final = ("ip_tables_names", "ip6_tables_names")
_SYSTEM: Final = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
_UNTOUCHED: Final = re.compile(r":[A-Z]+ ACCEPT\b")
_COUNTERS: Final = re.compile(r" ?\[\d+:\d+\]")
_DEADLINE_S: Final = 10.0
_UNTOUCHED_GENERATION: Final = 1  # of a namespace whose rules nobody has changed yet


def missing_tools() -> tuple[str, ...]:
    """The programs that are not installed here, of those that tell the rules."""
    return tuple(name for name in ("nft", "iptables-save", "ip6tables-save") if not _tool(name))


class Firewall:
    """Reads the packet filter of the calling thread's namespace, cheaply when nothing changed."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[tuple[int, str], tuple[str, ...]]] = {}

    def lines(self) -> tuple[str, ...]:
        """The rules now, without counters; builtin chains that only accept are left out.

        Where a program is missing, one line says so instead of its rules.
        """
        place = os.stat("/proc/thread-self/ns/net").st_ino
        state = (_generation(), _legacy_tables())
        seen = self._seen.get(place)
        if seen is None or seen[0] != state:
            seen = (state, tuple(_all_lines(state)))
            # The old tables (legacy iptables) have no generation: never taken from memory.
            if not state[1]:
                self._seen[place] = seen
        return seen[1]

    def forget(self) -> None:
        """Drops what was seen: the kernel gives the number of a namespace that ended again."""
        self._seen.clear()


def flat(text: str, elsewhere: Iterable[str] = ()) -> list[str]:
    """The lines of `nft list ruleset`, blocks unfolded: "table ip nat / chain PRE / counter".

    Tables in `told` ("ip nat") are left out: those that iptables-save tells, with all details.
    """
    skipped = {f"table {name}" for name in elsewhere}
    lines: list[str] = []
    place: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if line.endswith("{"):
            place.append(line[:-1].strip())
            lines.append(" / ".join(place))
        elif line == "}":
            place = place[:-1]
        elif line and not line.startswith("#"):
            lines.append(" / ".join([*place, line]))
    return [line for line in lines if line.split(" / ")[0] not in skipped]


def _all_lines(state: tuple[int, str]) -> Iterator[str]:
    generation, legacy = state
    if generation <= _UNTOUCHED_GENERATION and not legacy:
        return
    programs = _programs(legacy)
    saved = {family: _said(program) for family, program in programs.items()}
    # What iptables keeps in nftables is told by both; iptables-save knows every detail of it.
    tables = {
        f"{'ip6' if family == 'ip6tables' else 'ip'} {name}"
        for family in ("iptables", "ip6tables")
        for name in _tables(saved.get(family, ""))
    }
    if nft := _tool("nft"):
        yield from flat(_said(nft, "--stateless", "list", "ruleset"), tables)
    elif generation > _UNTOUCHED_GENERATION:
        yield "unknown: nftables rules are not readable without the program nft"
    if legacy and not programs:
        yield "unknown: iptables rules are not readable without the program iptables-save"
    for family, text in saved.items():
        yield from _saved(family, text)


def _programs(legacy: str) -> dict[str, str]:
    """The programs to ask, by the name their rules get. The old tables have their own, unless
    they are the only ones of the installation."""
    programs = {
        name: program
        for name in ("iptables", "ip6tables")
        if (program := _tool(f"{name}-save")) is not None
    }
    for name in list(programs) if legacy else ():
        program = _tool(f"{name}-legacy-save")
        if program and os.path.realpath(program) != os.path.realpath(programs[name]):
            programs[f"{name}-legacy"] = program
    return programs


def _tables(text: str) -> list[str]:
    return [line[1:] for line in text.splitlines() if line.startswith("*")]


def _saved(family: str, text: str) -> Iterator[str]:
    """The lines of an iptables-save with their table; a table that only accepts says nothing."""
    table = ""
    for line in text.splitlines():
        if line.startswith("*"):
            table = line[1:]
        elif line.startswith((":", "-", "unknown")) and not _UNTOUCHED.match(line):
            yield f"{family} {table}: {_COUNTERS.sub('', line)}"


def _tool(name: str) -> str | None:
    # A user's PATH often lacks the sbin directories, and `iptables` lies there.
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), _SYSTEM]))


def _said(name: str, *arguments: str) -> str:
    command = [name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_DEADLINE_S, check=False)
    if done.returncode:
        return f"unknown: {name} failed with {done.returncode}: {done.stderr.strip()}"
    return done.stdout


def _legacy_tables() -> str:
    """Names of old-style tables in use. Listing tables that are not would create them."""
    texts: list[str] = []
    for name in _LEGACY:
        with contextlib.suppress(FileNotFoundError), open(f"/proc/thread-self/net/{name}") as names:
            texts.append(names.read())
    return "".join(texts)


def _generation() -> int:
    """The kernel's number of the rules now, -1 where it has no nftables (nfnetlink)."""
    try:
        answer = netlink.ask(netlink.NETFILTER, _GET_GENERATION, _ANY_FAMILY)
    except OSError:  # this kernel has no netfilter, or one without nftables
        return -1
    generation = netlink.attributes(answer[len(_ANY_FAMILY) :])[_GENERATION_ID]
    return int.from_bytes(generation, "big")
