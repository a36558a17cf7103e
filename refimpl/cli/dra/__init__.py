"""`refimpl dra`: what Kubernetes makes of objects for devices, and of expressions about them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs
import click

from refimpl.cli.dra import documents
from refimpl.cli.errors import Usage

if TYPE_CHECKING:
    from refimpl.dra.cel import Device, Expression

EPILOG = """\b
Examples:
  refimpl dra cel 'device.driver == "gpu.example.com"'
  refimpl dra cel EXPR --device slice.yaml
  refimpl dra validate slice.yaml claim.yaml
  refimpl dra explain-allocation claim.yaml class.yaml slices.yaml
"""


@click.group(epilog=EPILOG, subcommand_metavar="COMMAND ...")
def command() -> None:
    """Judge objects and expressions for devices, and explain allocations."""


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
    for name, device in documents.devices(path, driver):
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
                documents.read(path),
                path,
                gates=ALPHA if alpha else Gates(),
                admin_access=admin_access,
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


@command.command(
    "explain-allocation",
    epilog="""\b
Examples:
  refimpl dra explain-allocation claim.yaml class.yaml slices.yaml
  refimpl dra explain-allocation *.yaml --node node-1 --json
  kubectl get nodes,deviceclasses,resourceslices,resourceclaims -A -o yaml \\
    | refimpl dra explain-allocation -
""",
)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@click.option("--node", "only", metavar="NAME", multiple=True, help="Only this node (repeatable).")
@click.option("--alpha", is_flag=True, help="With all alpha feature gates of DRA on.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a node.")
def explain_allocation(
    paths: tuple[str, ...], only: tuple[str, ...], alpha: bool, as_json: bool
) -> None:
    """Say which devices a scheduler gives to claims, node by node, or why it gives none.

    FILEs hold claims, device classes, ResourceSlices, taint rules and perhaps nodes; without nodes
    those that slices name. Claims without an allocation are asked for together, as those of one
    pod.

    Exit codes: 0 they fit on a node, 1 on none, 4 a file that cannot be used.
    """
    from refimpl.dra.allocation import Features, explained, told

    objects = [each for path in paths for each in documents.everything(path)]
    if not any(each.get("kind") == "ResourceClaim" for each in objects):
        raise Usage("there is no ResourceClaim in the files")
    nodes = documents.nodes(objects, only)
    verdicts = explained(objects, nodes, features=Features(experimental=alpha, fractional=alpha))
    for verdict in verdicts:
        for line in [json.dumps(verdict.data())] if as_json else told(verdict):
            click.echo(line)
    if not any(verdict.fits for verdict in verdicts):
        click.get_current_context().exit(1)
