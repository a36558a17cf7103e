"""Joins the engine to a pytest session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from conformance.engine import options as choices
from conformance.engine.events import Event, EventStream
from conformance.engine.judging.judge import Judge
from conformance.engine.judging.recorder import Recorder
from conformance.engine.judging.reporting import ReportFolder
from conformance.engine.options import INTERRUPTED, UNREACHABLE, USAGE, BadOption, Options
from conformance.engine.runid import new_run_id
from conformance.engine.targets.resolve import ResolvedTarget
from conformance.engine.targets.target import Target


class Listener:
    """Handed to pytest.main as a plugin, it hears every event of the run."""

    def __init__(self, hear: Callable[[Event], None]) -> None:
        self.hear = hear


class Opened:
    """Handed to pytest.main as a plugin: targets that are open already, by interface."""

    def __init__(self) -> None:
        self.targets: dict[str, Target] = {}

    def open(self, targets: Iterable[ResolvedTarget]) -> None:
        """Opens all of them, or none; raises BadOption, Unreachable."""
        try:
            for target in targets:
                self.targets[target.interface.name] = target.open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes them; nobody gets them any more."""
        for target in self.targets.values():
            target.close()
        self.targets = {}


JUDGE = pytest.StashKey[Judge]()
RECORDER = pytest.StashKey[Recorder]()


def attach(config: pytest.Config) -> None:
    """Registers the judge in every process, the recorder in the one that controls the run."""
    if JUDGE in config.stash:
        return
    try:
        options = from_pytest(config)
    except BadOption as error:
        raise pytest.UsageError(str(error)) from error
    plugins = config.pluginmanager.get_plugins()
    opened = next((each.targets for each in plugins if isinstance(each, Opened)), {})
    judge = Judge(options, opened)
    if options.drawn:
        # Nobody sees pytest's own layout of a failure, which takes 20 ms each.
        config.option.tbstyle = "native"
    config.stash[JUDGE] = judge
    config.pluginmanager.register(judge, "refimpl-judge")
    if not hasattr(config, "workerinput"):
        _record(config, options)
        if config.getoption("numprocesses", None):
            # Imported late: xdist costs time, and most runs have no workers.
            from conformance.engine.judging.workers import Workers

            ours = options.target == "fake" and not options.command
            config.pluginmanager.register(Workers(ours=ours), "refimpl-workers")


def _record(config: pytest.Config, options: Options) -> None:
    try:
        folder = ReportFolder.prepare(options.report_dir) if options.report_dir else None
    except BadOption as error:
        raise pytest.UsageError(str(error)) from error
    plugins = config.pluginmanager.get_plugins()
    listeners = [plugin.hear for plugin in plugins if isinstance(plugin, Listener)]
    if options.drawn and not options.json:
        # Imported late: a run under plain pytest or in JSON draws nothing.
        from conformance.engine.judging.terminal import Screen

        listeners.append(Screen(options).show)
    stream = EventStream(
        folder.events if folder else None, stdout=options.json, listeners=listeners
    )
    recorder = Recorder(options, stream, shown(options))
    config.stash[RECORDER] = recorder
    config.pluginmanager.register(recorder, "refimpl-recorder")
    if folder:
        config.pluginmanager.register(folder, "refimpl-reports")


def record_not_begun(options: Options, reason: BaseException) -> None:
    """The stream and the reports of a run that ended before it began: out of reach, interrupted,
    or a target that nobody can open."""
    folder = ReportFolder.prepare(options.report_dir) if options.report_dir else None
    stream = EventStream(folder.events if folder else None, stdout=options.json)
    recorder = Recorder(options, stream, shown(options))
    codes = {KeyboardInterrupt: INTERRUPTED, BadOption: USAGE}
    recorder.end(codes.get(type(reason), UNREACHABLE), str(reason) or "interrupted")
    if folder:
        folder.finish()


def shown(options: Options) -> dict[str, Any]:
    """The options as the run record keeps them: what was chosen, settings without secrets."""
    chosen = {
        key: value
        for key, value in msgspec.to_builtins(options).items()
        if value not in ("", 0, False, [], (), {}) and key not in ("settings", "drawn", "json")
    }
    if options.settings:
        chosen["settings"] = {
            key: "***" if "secret" in key else value for key, value in options.settings.items()
        }
    return chosen


def from_pytest(config: pytest.Config) -> Options:
    """The options of this session; a worker gets the very ones its controller had."""
    encoded = config.getoption("refimpl_options")
    if encoded:
        return choices.decode(encoded)
    options = Options(
        target=config.getoption("refimpl_target") or "fake",
        revision=config.getoption("refimpl_revision") or "",
        level=config.getoption("refimpl_level") or "may",
        strict=bool(config.getoption("refimpl_strict")),
        expect=tuple(config.getoption("refimpl_expect") or ()),
        report_dir=config.getoption("refimpl_report_dir") or "",
        run_id=new_run_id(),
    )
    options.check()
    # xdist hands its workers the options of this process, so that all share one run id.
    config.option.refimpl_options = choices.encode(options)
    return options


def judge_of(config: pytest.Config) -> Judge:
    """The judge of the session: fixtures of an interface get their target from it."""
    return config.stash[JUDGE]
