"""Runs a suite: options in, exit code out. pytest does the work, the recorder has the last word."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from conformance.engine import cases
from conformance.engine import options as choices
from conformance.engine.interface import Interface
from conformance.engine.interfaces import ALL, named
from conformance.engine.interruption import interruptible
from conformance.engine.judging import expectations, narrate, session
from conformance.engine.judging.reporting import ReportFolder
from conformance.engine.ledger.place import run_place
from conformance.engine.options import BadOption, Options
from conformance.engine.runid import new_run_id
from conformance.engine.targets.resolve import ResolvedTarget, resolve
from refimpl.wire.client import Unreachable

__all__ = ["BadOption", "Options", "Unreachable", "run"]

# Parts of pytest that a run of cases never uses, and that cost time with each of them.
_SPARE = (
    "cacheprovider",
    "doctest",
    "junitxml",
    "logging",
    "pastebin",
    "stepwise",
    "terminal",
    "unittest",
    "unraisableexception",
    "warnings",
)


def run(
    options: Options,
    *,
    workers: str = "0",
    first: bool = False,
    extra: Sequence[str] = (),
    plugins: Sequence[object] = (),
) -> int:
    """Judges the target; returns the exit code.

    Raises BadOption before anything runs for what cannot be used, Unreachable for a target that
    does not answer.
    """
    options = identified(options)
    targets = prepare(options)
    with interruptible(options), run_place(options):
        opened = session.Opened()
        try:
            # Each worker opens its own; a target of somebody else's is out of reach now or never.
            if workers == "0" or not all(target.ours for target in targets):
                opened.open(targets)
            if workers != "0":
                opened.close()
            words = [*arguments(options, workers, first), *extra]
            return int(pytest.main(words, [*plugins, opened]))
        except (BadOption, Unreachable, KeyboardInterrupt) as error:
            session.record_not_begun(options, error)
            raise
        finally:
            opened.close()


def usual_workers(options: Options) -> str:
    """How many workers judge where the user does not say: of all our fakes, and of one whose cases
    wait for seconds, two for each of two processors, as half the time is waited; else none, as a
    target of somebody else's may not bear two cases at a time, and one case needs no help."""
    several = options.interface == ALL or named(options.interface)[0].waits
    whole = not (options.only or options.focus)
    if not (several and whole and options.target == "fake" and not options.command):
        return "0"
    return "4" if len(os.sched_getaffinity(0)) > 1 else "0"


def identified(options: Options) -> Options:
    """The options with the id of a run, which all its workers share."""
    return options if options.run_id else msgspec.structs.replace(options, run_id=new_run_id())


def prepare(options: Options) -> list[ResolvedTarget]:
    """The targets; raises BadOption for all that can be known to be wrong before one is opened."""
    options.check()
    several = options.interface == ALL
    if several and (options.target != "fake" or options.command):
        raise BadOption("refimpl test all judges our fakes; name one interface for a target")
    targets = [resolve(options, each.name) for each in named(options.interface)]
    expectations.load(narrate.fixture_paths(options.expect, "expectations"))
    if options.report_dir:
        ReportFolder.prepare(options.report_dir)
    return targets


def arguments(options: Options, workers: str, first: bool) -> list[str]:
    """The pytest command line of a run."""
    words = [str(path) for each in named(options.interface) for path in _places(each, options)]
    home = _folder("conformance")
    words += ["--refimpl-options", choices.encode(options)]
    words += ["-c", str(home / "engine" / "pytest.ini"), "--rootdir", str(home)]
    words += ["--confcutdir", str(home)]
    for spare in _SPARE:
        words += ["-p", f"no:{spare}"]
    # Findings are told by `expect`, so plain asserts need no rewriting at every start; nothing a
    # case prints is shown, so nothing is captured either.
    words += ["--assert=plain", "--capture=no"]
    # Plugins of the user's environment cost time and may change what we judge; --pytest -p X
    # brings one back.
    words += [
        "--disable-plugin-autoload",
        "-p",
        "refimpl.pytest_plugin",
        "-p",
        "pytest_timeout",
    ]
    if workers != "0":
        words += ["-p", "xdist.plugin", "-n", workers, "--dist", "loadgroup"]
    return [*words, "-x"] if first else words


def _places(interface: Interface, options: Options) -> list[Path]:
    """Where the chosen cases are: the whole suite, or their modules where it has been imported and
    ids are named, as in a run against a mutant; to collect the others takes half a second."""
    whole = [_folder(interface.package)]
    known = cases.imported(interface.name)
    if known is None or options.expect or not options.only:
        return whole
    names = {known[id].function.__module__ for id in options.only if id in known}
    files = [Path(sys.modules[name].__file__ or "") for name in sorted(names)]
    return files if set(options.only) <= set(known) else whole


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent
