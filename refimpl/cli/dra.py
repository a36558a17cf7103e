"""`refimpl dra`: what Kubernetes makes of objects for devices, and of expressions about them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import click

from refimpl import files
from refimpl.cli.errors import Usage

if TYPE_CHECKING:
    from refimpl.dra.cel import Device, Expression

EPILOG = """\b
Examples:
  refimpl dra cel 'device.driver == "gpu.example.com"'
  refimpl dra cel EXPR --device slice.yaml
  refimpl dra validate slice.yaml claim.yaml
"""


@click.group(epilog=EPILOG, subcommand_metavar="COMMAND ...")
def command() -> None:
    """Judge objects and expressions for devices as Kubernetes does."""


@command.command(
    epilog="""\b
Examples:
  refimpl dra cel 'device.driver == "gpu.example.com"'
  refimpl dra cel 'device.capacity["gpu.example.com"].memory
      .isGreaterThan(quantity("40Gi"))' --device slice.yaml
  kubectl get resourceslices -o yaml | refimpl dra cel EXPR --device - --json
"""
)
@click.argument("expression")
@click.option(
    "--device",
    "path",
    metavar="FILE",
    help="ResourceSlices, a list of them, or one device with attributes and capacity;"
    " YAML or JSON, - for stdin.",
)
@click.option("--driver", default="", help="Driver of a device that stands alone.")
@click.option("--lists", is_flag=True, help="Attributes may be lists (DRAListTypeAttributes).")
@click.option("--stored", is_flag=True, help="As for an expression that is stored: no cost limit.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def cel(
    expression: str, path: str | None, driver: str, lists: bool, stored: bool, as_json: bool
) -> None:
    """Say what an expression means, and which devices it takes.

    It is judged as a new one of a DeviceClass or ResourceClaim of Kubernetes 1.37. Without --device
    only its type and what it costs at most are told, of a million that are allowed.

    Exit codes: 0 it takes a device, or nothing is wrong with it; 1 it takes none, or fails on one;
    4 it is refused, or the file cannot be used.
    """
    compiled = _compiled(expression, lists=lists, stored=stored)
    if path is None:
        told = {"type": str(compiled.type), "cost": compiled.cost}
        shown = f"{compiled.type}, costs {compiled.cost:,} of 1,000,000 at most"
        click.echo(json.dumps(told) if as_json else shown)
        return
    taken = failed = 0
    for name, device in _devices(path, driver):
        said, error = _said(compiled, device)
        taken, failed = taken + (said == "match"), failed + bool(error)
        if as_json:
            click.echo(json.dumps({"device": name, "said": said, "error": error}))
        else:
            click.echo(f"{name}  {said}" + (f": {error}" if error else ""))
    if failed or not taken:
        click.get_current_context().exit(1)


def _compiled(expression: str, *, lists: bool, stored: bool) -> Expression:
    from refimpl.dra.cel import ExpressionError, compiled, selector

    try:
        if stored:
            return compiled(expression, list_attributes=True)
        return selector(expression, list_attributes=lists)
    except ExpressionError as error:
        raise Usage(f"{error}{_pointed(expression, error.at)}") from error


def _pointed(expression: str, at: int) -> str:
    """The line of the expression, with a mark below the place."""
    if at < 0:
        return ""
    begin = expression.rfind("\n", 0, at) + 1
    line = expression[begin:].partition("\n")[0]
    if len(line) > 70:  # of a long one only what stands around
        cut = max(at - begin - 35, 0)
        line, begin = line[cut : cut + 70], begin + cut
    return f"\n  {line}\n  {' ' * (at - begin)}^"


def _said(expression: Expression, device: Device) -> tuple[str, str]:
    from refimpl.dra.cel import EvaluationError

    try:
        return ("match" if expression.matches(device) else "no match"), ""
    except EvaluationError as error:
        return "error", str(error)


def _devices(path: str, driver: str) -> Iterator[tuple[str, Device]]:
    """Each device of a file with its name. Raises Usage."""
    from refimpl.documents import DocumentError, yaml

    try:
        document = yaml.parse(_read(path), name=path).value
    except DocumentError as error:
        raise Usage(str(error)) from error
    found = list(_found(document, driver, path))
    if not found:
        raise Usage(f"{path} has no device: neither a ResourceSlice nor attributes or capacity")
    yield from found


def _read(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else files.read(path)
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}") from error


def _found(document: Any, driver: str, path: str) -> Iterator[tuple[str, Device]]:
    if not isinstance(document, Mapping):
        raise Usage(f"{path} is no object")
    if isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _found(item, driver, path)
    elif isinstance(document.get("spec"), Mapping):
        spec = document["spec"]
        pool = spec.get("pool", {}).get("name", "") if isinstance(spec.get("pool"), Mapping) else ""
        for device in spec.get("devices") or ():
            name = "/".join(filter(None, (spec.get("driver", ""), pool, device.get("name", ""))))
            yield name, _device(str(spec.get("driver", driver)), device, name)
    elif "attributes" in document or "capacity" in document:
        name = str(document.get("name", "device"))
        yield name, _device(str(document.get("driver", driver)), document, name)


def _device(driver: str, device: Any, name: str) -> Device:
    from refimpl.dra.cel import Device

    try:
        return Device.of(driver, device)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Usage(f"{name}: {error}") from error


@command.command(
    epilog="""\b
Examples:
  refimpl dra validate slice.yaml claims/*.yaml
  refimpl dra validate class.yaml --alpha --json | jq -r .field
"""
)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@click.option("--alpha", is_flag=True, help="With all alpha feature gates of DRA on.")
@click.option("--admin-access", is_flag=True, help="The namespace is labelled for admin access.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a finding.")
def validate(paths: tuple[str, ...], alpha: bool, admin_access: bool, as_json: bool) -> None:
    """Say all that is wrong with objects of resource.k8s.io/v1, with line and column.

    Field paths and reasons are those of an API server of Kubernetes 1.37 that creates the objects.
    Objects of other groups in the files are left alone.

    Exit codes: 0 fine, 1 findings, 4 a file that cannot be read or has no such object.
    """
    from refimpl.documents import DocumentError
    from refimpl.dra.validation import ALPHA, Gates
    from refimpl.dra.validation.documents import judged

    objects, levels = 0, []
    for path in paths:
        try:
            count, findings = judged(
                _read(path), path, gates=ALPHA if alpha else Gates(), admin_access=admin_access
            )
        except DocumentError as error:
            raise Usage(str(error)) from error
        if not count:
            raise Usage(f"{path} has no object of resource.k8s.io")
        objects += count
        levels += [finding.level for finding in findings]
        for finding in findings:
            click.echo(json.dumps(attrs.asdict(finding)) if as_json else str(finding))
    errors, warnings = levels.count("error"), levels.count("warning")
    click.echo(f"{objects} objects, {errors} errors, {warnings} warnings", err=True)
    if errors:
        click.get_current_context().exit(1)
