"""The flows of `refimpl run cni`: what a runtime does with plugins, each exec on a line."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import click

from refimpl.cli.errors import Usage
from refimpl.cni import config, contract
from refimpl.cni.config import ConfigError, NetworkList
from refimpl.cni.contract import CniError, ShapeError
from refimpl.cni.execute import Exec
from refimpl.cni.execute.record import text
from refimpl.cni.runtime import Attachment, CacheError, Runtime, Trouble, discovery
from refimpl.cni.runtime.cache import DEFAULT
from refimpl.cni.runtime.kubernetes import Pod
from refimpl.cni.runtime.lookup import split
from refimpl.cni.runtime.pod import PodNetwork

__all__ = ["play"]

BIN_DIR = "/opt/cni/bin"
NEEDS_NETNS = ("pod", "add", "check")
"""Flows that make no sense without a namespace: they get one that is gone afterwards."""

FAILURES = (CniError, Trouble, CacheError, ExceptionGroup)


@attrs.frozen(kw_only=True)
class Stage:
    """All that a flow works with."""

    runtime: Runtime
    networks: tuple[NetworkList, ...]
    container_id: str
    netns: str
    ifname: str
    args: list[tuple[str, str]]
    capability_args: dict[str, Any]
    valid: list[tuple[str, str]]

    def attachments(self) -> list[tuple[NetworkList, Attachment]]:
        """One interface a network; the first has the name that was asked for."""
        prefix = self.ifname.rstrip("0123456789")
        first = int(self.ifname[len(prefix) :] or 0)
        names = [self.ifname, *(f"{prefix}{first + n}" for n in range(1, len(self.networks)))]
        return [
            (
                network,
                Attachment(self.container_id, self.netns, name, self.args, self.capability_args),
            )
            for network, name in zip(self.networks, names, strict=True)
        ]


def play(target: str, flow: str, *, verbose: bool = False, **options: Any) -> bool:
    """Plays one flow; whether no plugin failed. Raises Usage for what cannot be played."""
    with _stage(target, flow, verbose, options) as stage:
        went_well = [_step(name, act) for name, act in STEPS[flow](stage)]
    return all(went_well)


def _step(name: str, act: Callable[[], object]) -> bool:
    """One step; its failure on stderr. A step that was not called says why."""
    try:
        skipped = act()
    except FAILURES as error:
        for line in _lines(error):
            click.echo(f"{name}: {line}", err=True)
        return False
    except BrokenPipeError:  # whoever reads our lines has enough
        raise
    except (ConfigError, ValueError, OSError) as error:
        raise Usage(f"{name}: {error}") from error
    for reason in (
        [skipped] if isinstance(skipped, str) else skipped if isinstance(skipped, list) else []
    ):
        if reason:
            click.echo(f"{name}: not called: {reason}")
    return True


def _lines(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _lines(part)
        return
    yield str(error)
    yield from getattr(error, "__notes__", ())


Steps = Iterator[tuple[str, Callable[[], object]]]


def _pod(stage: Stage) -> Steps:
    """ADD and what follows it; nothing follows an ADD that failed."""
    network = PodNetwork(stage.runtime, stage.networks)
    pod = Pod(id=stage.container_id, netns=stage.netns, name="refimpl", uid=stage.container_id)
    results: list[object] = []
    yield "add", lambda: results.append(network.setup(pod))
    if results:
        yield "check", partial(network.check, pod)
        yield "status", network.status
        yield "del", partial(network.teardown, pod)


def _add(stage: Stage) -> Steps:
    for network, attachment in stage.attachments():
        yield "add", partial(_add_one, stage.runtime, network, attachment)


def _add_one(runtime: Runtime, network: NetworkList, attachment: Attachment) -> None:
    result = runtime.add(network, attachment)
    click.echo(json.dumps(contract.encode(result), indent=2, default=str))


def _check(stage: Stage) -> Steps:
    for network, attachment in stage.attachments():
        yield "check", partial(stage.runtime.check, network, attachment)


def _status(stage: Stage) -> Steps:
    for network in stage.networks:
        yield "status", partial(stage.runtime.status, network)


def _del(stage: Stage) -> Steps:
    for network, attachment in reversed(stage.attachments()):
        yield "del", partial(stage.runtime.delete, network, attachment)


def _gc(stage: Stage) -> Steps:
    runtime = stage.runtime
    pairs = [record.attachment.pair for record in runtime.kept]
    # cnitool names no attachments, so that all go; nobody else does that to a node unasked.
    everything = runtime.profile.name == "libcni" and not stage.valid
    valid = None if everything else stage.valid or pairs
    for network in stage.networks:
        yield "gc", partial(runtime.gc, network, valid)


STEPS: dict[str, Callable[[Stage], Steps]] = {
    "pod": _pod,
    "add": _add,
    "check": _check,
    "status": _status,
    "del": _del,
    "gc": _gc,
}


@contextlib.contextmanager
def _stage(target: str, flow: str, verbose: bool, options: dict[str, Any]) -> Iterator[Stage]:
    """What the options describe; a namespace and a cache that were made for it go with it."""
    with contextlib.ExitStack() as stack:
        netns = options.get("netns", "")
        if not netns and flow in NEEDS_NETNS:
            netns = _made_netns(stack)
            options.setdefault(
                "cache_dir", stack.enter_context(tempfile.TemporaryDirectory(prefix="refimpl-"))
            )
        netns = os.path.abspath(netns) if netns else ""
        runtime = _runtime(options, verbose)
        yield Stage(
            runtime=runtime,
            networks=_networks(Path(target), runtime),
            container_id=options.get("container_id") or _container_id(netns, flow, runtime),
            netns=netns,
            ifname=options.get("ifname", "eth0"),
            args=_args(options.get("args", "")),
            capability_args=_object(options.get("cap_args", "{}")),
            valid=[_pair(pair) for pair in options.get("valid", ())],
        )


def _runtime(options: dict[str, Any], verbose: bool) -> Runtime:
    path = options.get("cni_path") or os.environ.get("CNI_PATH") or BIN_DIR
    try:
        return Runtime(
            split(path),
            options.get("cache_dir", DEFAULT),
            profile=options.get("profile", "strict"),
            observers=[_printer(verbose)],
        )
    except ValueError as error:
        raise Usage(f"--{error}") from error


def _made_netns(stack: contextlib.ExitStack) -> str:
    """A namespace in a sandbox around this process; both end with the flow."""
    from refimpl.cni.host import sandbox
    from refimpl.cni.host.kernel import Kernel
    from refimpl.cni.host.views import HostError

    try:
        stack.enter_context(sandbox.enter())
        host = Kernel()
        netns = host.make_netns()
    except HostError as error:
        raise Usage(f"{error}; or name a namespace that is there with --netns") from error
    stack.callback(host.remove_netns, netns)
    return netns


def _networks(target: Path, runtime: Runtime) -> tuple[NetworkList, ...]:
    try:
        if not target.is_dir():
            return (config.load(target),)
        discovered = discovery.find(target, runtime)
    except (ConfigError, OSError) as error:
        raise Usage(str(error)) from error
    for sentence in discovered.skipped:
        click.echo(f"skipped {sentence}", err=True)
    return discovered.networks


def _container_id(netns: str, flow: str, runtime: Runtime) -> str:
    """The same id for the same namespace, so that del finds what add made; as cnitool makes it."""
    if not netns:
        if flow == "del":
            raise Usage("del needs --container-id, or --netns to make it from")
        return "none"
    prefix = "cnitool" if runtime.profile.name == "libcni" else "refimpl"
    return f"{prefix}-{hashlib.sha512(os.fsencode(netns)).hexdigest()[:20]}"


def _args(argument: str) -> list[tuple[str, str]]:
    try:
        return contract.parse_args(argument)
    except ShapeError as error:
        raise Usage(f"--args: {error}") from error


def _object(argument: str) -> dict[str, Any]:
    try:
        value = json.loads(argument)
    except ValueError as error:
        raise Usage(f"--cap-args: {error}") from error
    if not isinstance(value, dict):
        raise Usage('--cap-args: write an object, such as {"mac": "02:00:00:00:00:01"}')
    return value


def _pair(argument: str) -> tuple[str, str]:
    container_id, slash, ifname = argument.partition("/")
    if not (container_id and slash and ifname):
        raise Usage(f"--valid {argument}: write CONTAINER-ID/INTERFACE")
    return container_id, ifname


def _printer(verbose: bool) -> Callable[[Exec], None]:
    def show(record: Exec) -> None:
        name = Path(record.plugin).name
        took = f"{record.outcome.duration_s * 1000:.0f} ms"
        click.echo(f"{record.request.verb:<7} {name:<14} {took:>8}  {_summary(record)}")
        if verbose:
            for line in _details(record):
                click.echo(f"    {line}")

    return show


def _summary(record: Exec) -> str:
    """What the plugin answered, in one line."""
    outcome = record.outcome
    if not outcome.ok:
        return f"{outcome.ending.name}: {outcome.error or text(outcome.stdout or outcome.stderr)}"
    try:
        document = outcome.document
        if record.request.verb != "ADD" or not isinstance(document, dict):
            return "ok" if document is None else text(outcome.stdout, 100)
        result = contract.decode(document, str(document.get("cniVersion", "")), lenient=True)
    except ShapeError:
        return text(outcome.stdout, 100)
    names = [interface.name for interface in result.interfaces if interface.sandbox]
    return " ".join([*names, *(ip.address for ip in result.ips)]) or "ok"


def _details(record: Exec) -> Sequence[str]:
    variables = sorted(record.request.env.items())
    env = [f"{key}={value}" for key, value in variables if key.startswith("CNI_")]
    outcome = record.outcome
    streams = (("<", record.request.stdin), (">", outcome.stdout), ("2>", outcome.stderr))
    documents = [f"{mark} {text(data, 4000)}" for mark, data in streams if data.strip()]
    return [*env, *documents]
