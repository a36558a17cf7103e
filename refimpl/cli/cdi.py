"""`refimpl cdi`: what CDI files say, which device a name stands for, and what it would change."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refimpl import files
from refimpl.cli.errors import Usage

if TYPE_CHECKING:
    from refimpl.cdi.registry import DeviceEntry, Registry, SpecFile

# As in refimpl.cdi, which is imported when a command runs: a test holds them together.
POLICIES = ("practice", "strict")
PROFILES = ("strict", "practice", "library-1.1.0")

EPILOG = """\b
Examples:
  refimpl cdi validate vendor.yaml          what is wrong, and in which line
  refimpl cdi list                          the devices of this machine
  refimpl cdi resolve vendor.com/gpu=0      which file counts, what it does
  refimpl cdi inject config.json vendor.com/gpu=0 > with-gpu.json
"""

_directories = click.option(
    "--dir",
    "directories",
    metavar="DIR",
    multiple=True,
    help="Look here; a later one wins (repeatable).  [default: /etc/cdi, /var/run/cdi]",
)
_policy = click.option(
    "--policy",
    type=click.Choice(POLICIES),
    default=POLICIES[0],
    show_default=True,
    help="What counts as an error: the Go library's rules, or the specification's text.",
)
_as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


@click.group(epilog=EPILOG, subcommand_metavar="COMMAND ...")
def command() -> None:
    """Judge, list, resolve and inject devices of CDI files.

    Exit codes: 0 fine, 1 findings or names that cannot be resolved, 4 usage.
    """


@command.command(
    epilog="""\b
Examples:
  refimpl cdi validate vendor.yaml
  refimpl cdi validate /etc/cdi /var/run/cdi --policy strict
  refimpl cdi validate vendor.json --json | jq -r '.findings[].rule'
"""
)
@click.argument("paths", metavar="FILE|DIR...", nargs=-1, required=True)
@_policy
@_as_json
def validate(paths: tuple[str, ...], policy: str, as_json: bool) -> None:
    """Say what is wrong with CDI files, or with all those of a directory.

    Each finding has its line and column, the rule, and what to do. Warnings do not make the
    command fail. With --json one object a file: path, ok, findings.
    """
    from refimpl.cdi.files import load

    files = [load(path, policy=policy) for path in _spec_paths(paths)]  # type: ignore[arg-type]
    for file in files:
        if as_json:
            click.echo(json.dumps(_judged(file)))
        else:
            for finding in file.findings:
                click.echo(str(finding))
    levels = [finding.level for file in files for finding in file.findings]
    errors, warnings = levels.count("error"), levels.count("warning")
    summary = f"{_count(len(files), 'file')}, {_count(errors, 'error')}"
    click.echo(f"{summary}, {_count(warnings, 'warning')}", err=True)
    _end(errors == 0)


@command.command("list", epilog="\b\nExamples:\n  refimpl cdi list --dir /etc/cdi --json")
@_directories
@_policy
@_as_json
def list_(directories: tuple[str, ...], policy: str, as_json: bool) -> None:
    """List the devices that can be requested, and the file of each.

    What is wrong with files and directories goes to stderr, and makes the exit code 1.
    """
    registry = _registry(directories, policy)
    for entry in registry.resolve(registry.names):
        record = {"name": entry.name, "path": entry.path, "priority": entry.priority}
        click.echo(json.dumps(record) if as_json else f"{entry.name:40}  {entry.path}")
    for problems in registry.problems.values():
        for problem in problems:
            click.echo(problem, err=True)
    _end(not registry.problems)


@command.command(
    epilog="""\b
Examples:
  refimpl cdi resolve vendor.com/gpu=0 vendor.com/gpu=1
  refimpl cdi resolve vendor.com/gpu=0 --dir ./cdi --json | jq .containerEdits
"""
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@_directories
@_policy
@_as_json
def resolve(
    names: tuple[str, ...], directories: tuple[str, ...], policy: str, as_json: bool
) -> None:
    """Say which file defines a device, and what it changes in a container.

    What is shown under "spec" the file adds once for any of its devices. A name that cannot be
    resolved is told on stderr, with the reason, and makes the exit code 1.
    """
    registry = _registry(directories, policy)
    reasons = {name: registry.why_not(name) for name in names}
    for name in names:
        entry = registry.get(name)
        if entry is not None:
            click.echo(json.dumps(_resolved(entry)) if as_json else _shown(entry))
    for reason in filter(None, reasons.values()):
        click.echo(reason, err=True)
    _end(not any(reasons.values()))


@command.command(
    epilog="""\b
Examples:
  refimpl cdi inject config.json vendor.com/gpu=0 > with-gpu.json
  refimpl cdi inject config.json vendor.com/gpu=0 --dir ./cdi --in-place
  runc spec && refimpl cdi inject - vendor.com/gpu=0 < config.json
"""
)
@click.argument("config", metavar="CONFIG.JSON")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@_directories
@_policy
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default=PROFILES[0],
    show_default=True,
    help="Inject as the specification says, or as a version of the Go library does.",
)
@click.option("--in-place", is_flag=True, help="Change the file instead of printing.")
def inject(
    config: str,
    names: tuple[str, ...],
    directories: tuple[str, ...],
    policy: str,
    profile: str,
    in_place: bool,
) -> None:
    """Inject devices into an OCI config.json (-: from stdin), and print the result.

    All of them or none: where a name cannot be resolved or an edit cannot be applied, nothing is
    printed or changed, stderr says why, and the exit code is 1. Device nodes are looked up on this
    machine.
    """
    from refimpl.cdi.inject import CHOICES, InjectError
    from refimpl.cdi.inject import inject as injected
    from refimpl.cdi.registry import Unresolved

    if in_place and config == "-":
        raise Usage("--in-place changes a file; give its path instead of -")
    config_value = _config(config)
    registry = _registry(directories, policy)
    try:
        result = injected(registry, config_value, names, choices=CHOICES[profile])
    except (Unresolved, InjectError) as error:
        raise click.ClickException(str(error)) from error
    text = json.dumps(result, indent=2, ensure_ascii=False, default=float) + "\n"
    if in_place:
        _replace(Path(config), text)
    else:
        click.echo(text, nl=False)


def _spec_paths(paths: tuple[str, ...]) -> Iterator[str]:
    from refimpl.cdi.directories import spec_paths

    for path in paths:
        if not os.path.lexists(path):
            raise Usage(f"{path}: there is no such file or directory")
        try:
            yield from spec_paths(path) if os.path.isdir(path) else [path]
        except OSError as error:
            raise Usage(f"{path}: {error.strerror}") from error


def _registry(directories: tuple[str, ...], policy: str) -> Registry:
    from refimpl.cdi.directories import DEFAULT, scan
    from refimpl.cdi.registry import Registry

    for directory in directories:
        if not os.path.isdir(directory):
            raise Usage(f"--dir {directory}: there is no such directory")
    listing = scan(directories or DEFAULT, policy)  # type: ignore[arg-type]
    return Registry(listing.files, listing.errors)


def _judged(file: SpecFile) -> dict[str, Any]:
    findings = [finding.to_dict() for finding in file.findings]
    return {"path": file.path, "ok": file.spec is not None, "findings": findings}


def _resolved(entry: DeviceEntry) -> dict[str, Any]:
    from refimpl.cdi.model import encode

    return {
        "name": entry.name,
        "path": entry.path,
        "priority": entry.priority,
        "containerEdits": encode(entry.device.container_edits),
        "spec": {"containerEdits": encode(entry.spec.container_edits)},
    }


def _shown(entry: DeviceEntry) -> str:
    import yaml

    record = _resolved(entry)
    parts = {name: record[name] for name in ("containerEdits", "spec")}
    if not parts["spec"]["containerEdits"]:
        del parts["spec"]
    text = yaml.safe_dump(parts, sort_keys=False, allow_unicode=True)
    body = "".join(f"  {line}\n" for line in text.splitlines())
    return f"{entry.name}  {entry.path}\n{body}".rstrip("\n")


def _config(path: str) -> Any:
    from refimpl.documents import DocumentError
    from refimpl.documents import json as documents

    try:
        data = sys.stdin.buffer.read() if path == "-" else files.read(path)
        return documents.parse(data, name=path).value
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}") from error
    except DocumentError as error:
        raise Usage(str(error)) from error


def _replace(path: Path, text: str) -> None:
    """The new text under the old name and with the old mode, or the old text."""
    from refimpl.cdi.files import replace

    try:
        replace(path.resolve(), text.encode(), mode=path.stat().st_mode & 0o7777)
    except OSError as error:
        raise Usage(f"{path} cannot be written: {error.strerror}") from error


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)


def _end(fine: bool) -> None:
    if not fine:
        click.get_current_context().exit(1)
