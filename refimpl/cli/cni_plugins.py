"""`refimpl cni install`, `journal`, `knobs`: fake plugins, and what was done to them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from refimpl import files
from refimpl.cli.errors import Usage

DEFAULT = (
    "fake-bridge=interface",
    "fake-host-local=hostlocal",
    "fake-portmap=chained",
    "fake-recorder=recorder",
)

INSTALL_EPILOG = """\b
KIND is interface, hostlocal (addresses), chained, delegating or recorder.

\b
Examples:
  refimpl cni install /opt/cni/bin
  refimpl cni install bin --plugin bridge=recorder --journal calls.jsonl
  refimpl cni install bin --plugin ipam=hostlocal --faults faults.yaml

\b
faults.yaml, a list of rules; `refimpl cni knobs` names what `do` can be:
  - {verb: ADD, nth: 2, do: error, code: 11, msg: later}
  - {verb: DEL, do: hang}
"""


@click.command(epilog=INSTALL_EPILOG)
@click.argument("folder", metavar="DIR")
@click.option(
    "--plugin",
    "plugins",
    metavar="NAME=KIND",
    multiple=True,
    help=f"Repeatable.  [{', '.join(DEFAULT)}]",
)
@click.option("--faults", metavar="FILE", help="YAML: what they do wrong, and when.")
@click.option("--journal", metavar="FILE", help="A record of every call, for all of them.")
@click.option("--kernel", metavar="FILE", help="The file that stands for links.  [DIR/kernel.json]")
@click.option("--version", "versions", multiple=True, metavar="V", help="Versions they speak.")
def install(
    folder: str,
    plugins: Sequence[str],
    faults: str | None,
    journal: str | None,
    kernel: str | None,
    versions: Sequence[str],
) -> None:
    """Put fake plugins into DIR, each one executable and NAME.settings.json beside it."""
    from refimpl.cni.plugins import PluginError
    from refimpl.cni.plugins import install as make

    settings: dict[str, Any] = {
        "faults": _faults(faults) if faults else None,
        "journal": os.path.abspath(journal) if journal else None,
        "kernel": os.path.abspath(kernel) if kernel else None,
        "versions": list(versions) or None,
    }
    changes = {key: value for key, value in settings.items() if value is not None}
    for word in plugins or DEFAULT:
        name, mark, kind = word.partition("=")
        if not mark:
            raise Usage(f"--plugin {word}: write NAME=KIND, such as bridge=recorder")
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            click.echo(make(folder, name, kind, **changes))
        except PluginError as error:
            raise Usage(str(error)) from error
        except OSError as error:
            raise Usage(f"{folder}: {error.strerror}") from error


def _faults(path: str) -> Any:
    import yaml

    try:
        rules = yaml.safe_load(files.read(path).decode())
    except OSError as error:
        raise Usage(f"--faults {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Usage(f"--faults {path}: {error}") from error
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise Usage(f"--faults {path}: write a list of rules, such as - {{verb: ADD, do: hang}}")
    return rules


@click.command(
    epilog="\b\nExamples:\n  refimpl cni journal calls.jsonl\n  refimpl cni journal calls.jsonl -v"
)
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="JSON lines with documents as values.")
@click.option("-v", "--verbose", is_flag=True, help="Variables and documents, too.")
def journal(file: str, as_json: bool, verbose: bool) -> None:
    """Print the calls of a fake plugin's journal in the order they began."""
    from refimpl.cni.plugins import records

    if not os.path.isfile(file):
        raise Usage(f"{file}: no such file; --journal of `refimpl cni install` names it")
    try:
        calls = records(file)
    except (ValueError, KeyError) as error:
        raise Usage(f"{file}: no journal of a fake plugin: {error}") from error
    for call in calls:
        if as_json:
            click.echo(json.dumps(_values(call)))
        else:
            click.echo(_line(call))
            if verbose:
                click.echo(_details(call))


def _line(call: dict[str, Any]) -> str:
    env = call["env"]
    took = f"{(call['end_ns'] - call['start_ns']) / 1e6:.0f} ms" if call["end_ns"] else "no end"
    who = " ".join(filter(None, (env.get("CNI_CONTAINERID", "")[:24], env.get("CNI_IFNAME", ""))))
    ending = "no end" if call["status"] is None else f"exit {call['status']}"
    faults = f" [{', '.join(call['faults'])}]" if call["faults"] else ""
    verb = env.get("CNI_COMMAND", "?")
    return f"{call['plugin']:18} {verb:8} {who:34} {ending}, {took}{faults}"


def _details(call: dict[str, Any]) -> str:
    cni_variables = {
        key: value for key, value in sorted(call["env"].items()) if key.startswith("CNI_")
    }
    lines = [f"    {key}={value}" for key, value in cni_variables.items()]
    if others := len(call["env"]) - len(cni_variables):
        lines.append(f"    and {others} variables of the runtime's own (--json has them)")
    for name in ("stdin", "stdout", "stderr"):
        if call[name]:
            lines.append(f"    {name}: {call[name].decode(errors='backslashreplace').strip()}")
    return "\n".join(lines)


def _values(call: dict[str, Any]) -> dict[str, Any]:
    """The record with its bytes as JSON values, or as text where they are none."""
    return {key: _value(item) if isinstance(item, bytes) else item for key, item in call.items()}


def _value(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="backslashreplace")


@click.command()
def knobs() -> None:
    """List what fake plugins can be told to do wrong."""
    from refimpl.cni.plugins import KNOBS

    formatter = click.HelpFormatter(width=80)
    formatter.write_dl(sorted(KNOBS.items()))
    click.echo(formatter.getvalue(), nl=False)
