"""The calls of a finding as a script that needs nothing of ours: the modules of `player` as they
are, the calls on record, and a line that plays them."""

from __future__ import annotations

import importlib
import inspect
import pprint
import re
from collections.abc import Mapping
from typing import Any

from conformance.engine.events import CaseDone
from conformance.engine.interfaces import interface_of, side_of
from conformance.engine.options import BadOption, Options
from conformance.engine.replay import of_execs, of_rpcs
from conformance.engine.replay.recorded import Recorded
from conformance.engine.reports.text import one_line
from conformance.engine.targets.resolve import resolve

__all__ = ["script"]

_PLAYER = "conformance.engine.replay.player"
# The last words of a name that starts with ours, be it of a folder in a temporary one.
_FOLDER = re.compile(r"(?<![\w/.])/(?:[\w.+-]+/)*?refimpl-[\w-]+")
_OURS = re.compile(r"^from (?:__future__|conformance)\b[^\n(]*(?:\([^)]*\))?\n", re.M)
_MODULES = {"rpcs": ("playing", "codec", "rpcs"), "execs": ("playing", "execs")}


def script(recorded: Recorded, options: Options) -> str:
    """The script, executable by Python or, for acts of an adapter, by a shell.

    Raises BadOption where what was done is no call, so that only `replay` itself can do it again.
    """
    done = recorded.done
    if side_of(done.id) == "client":
        raise BadOption(f"{done.id}: the client under test makes the calls, no script; {_WITHOUT}")
    calls = [call for call in done.calls if call.get("side") != "server"]
    if not calls:
        raise BadOption(f"{done.id}: it made no call of its own, and judges others; {_WITHOUT}")
    if "env" in calls[0]:
        return _python(recorded, "execs", of_execs.record(done, calls))
    if str(calls[0].get("method", "")).startswith("/"):
        resolved = resolve(options, interface_of(done.id))
        return _python(recorded, "rpcs", of_rpcs.record(done, calls, resolved))
    if done.reproduce:
        return f"#!/bin/sh\n# {one_line(_headline(done))}\n{done.reproduce}\n"
    raise BadOption(f"{done.id}: what was done is no call of a program; {_WITHOUT}")


_WITHOUT = "replay it without --script"


def _python(recorded: Recorded, player: str, record: Mapping[str, Any]) -> str:
    done = recorded.done
    whole = {**record, **_common(recorded, record)}
    return "\n".join(
        [
            "#!/usr/bin/env python3",
            _docstring(done, player),
            "from __future__ import annotations",
            *(_source(name) for name in _MODULES[player]),
            f"RECORD: Any = {pprint.pformat(whole, width=100, sort_dicts=False)}",
            "",
            'if __name__ == "__main__":',
            "    run(main, RECORD)",
            "",
        ]
    )


def _common(recorded: Recorded, record: Mapping[str, Any]) -> dict[str, Any]:
    done = recorded.done
    finding = {"case": _headline(done), "rule": done.message, "source": done.source}
    finding |= {"wanted": done.wanted, "got": done.got}
    named = set(_FOLDER.findall(repr(record["calls"])))
    return {
        "run": recorded.run.config.get("run_id") or "no run id",
        # Longest first: what lies in another is named by itself.
        "folders": sorted(named, key=len, reverse=True),
        "finding": {label: one_line(text) for label, text in finding.items() if text},
    }


def _headline(done: CaseDone) -> str:
    return f"{done.id} {done.level} {done.title}"


def _docstring(done: CaseDone, player: str) -> str:
    usage = {
        "rpcs": "usage: SCRIPT [ENDPOINT ...]   needs grpcio",
        "execs": "usage: SCRIPT [PLUGIN]   needs util-linux (unshare, mount)",
    }[player]
    text = f"""{one_line(_headline(done))}

{usage}

Plays the calls of this finding in their order; names, ids and folders are new ones. Exit code 1:
the calls end as they did, 0: in another way, 2: the script cannot be used like this. What the
case did or looked at besides (files, mounts, links, processes) is not in here.
"""
    return '"""' + text.replace("\\", "\\\\").replace('"', "'") + '"""'


def _source(name: str) -> str:
    module = importlib.import_module(f"{_PLAYER}.{name}")
    text = inspect.getsource(module).partition('"""\n')[2]
    return _OURS.sub("", text).strip() + "\n"
