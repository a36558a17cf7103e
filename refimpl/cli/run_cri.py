"""The flows of `refimpl run cri`: what kubelet asks of a container runtime, each call on a line."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Callable, Iterator, Sequence

import attrs
import click
from google.protobuf.message import Message

from conformance.engine.reports.text import count, duration, one_line, sketch
from refimpl.cli.errors import TargetUnreachable, Usage
from refimpl.cri.kubelet import (
    RemoteRuntime,
    StartedPod,
    collect,
    connect,
    container_config,
    kill_pod,
    lacking,
    probe,
    relist,
    sandbox_config,
    start_pod,
    start_up,
)
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import EndpointError
from refimpl.wire.journal import Entry
from refimpl.wire.secrets import to_dict
from refimpl.wire.status import Code, Refused

__all__ = ["NAMESPACE", "play"]

NAMESPACE = "refimpl-run"
"""Of the pods that flows make; `gc` looks at no other."""

_READY_S = 5.0
_SHELL = "refimpl.example/shell:1"  # an image that only our fake has
_BRIEF = 60
_GRACE_S = 2
_COMMAND = ("sleep", "3600")


@attrs.define
class Stage:
    """All that a flow works with. pod: what it has started."""

    runtime: RemoteRuntime
    image: str
    handler: str
    host_network: bool
    probe: tuple[str, ...]
    pod: StartedPod | None = None


@attrs.define
class _Printer:
    """Prints each call as it ends, and remembers whether kubelet could use all replies."""

    verbose: bool
    content: bool = True

    def __call__(self, call: Entry) -> None:
        replies = [reply for reply in call.replies if isinstance(reply, Message)]
        requests = [request for request in call.requests if isinstance(request, Message)]
        click.echo(f"  {call.rpc:<18} {duration(call.duration_s):>7}  {_answer(call, replies)}")
        for mark, messages in (("<", requests), (">", replies)) if self.verbose else ():
            for message in messages:
                click.echo(f"    {mark} {one_line(json.dumps(to_dict(message)))}")
        for reply in replies:
            if names := ", ".join(lacking(call.rpc, reply)):
                self.content = False
                click.echo(f"{call.rpc}: kubelet takes no reply without {names}", err=True)


def _answer(call: Entry, replies: Sequence[Message]) -> str:
    if call.code != Code.OK:
        return f"{call.code.name}: {one_line(call.message)}"
    shown = to_dict(replies[0]) if replies else {}
    return sketch(shown, _BRIEF) if shown else "ok"


def play(
    target: str,
    flow: str,
    *,
    verbose: bool = False,
    image: str = "",
    handler: str = "",
    host_network: bool = False,
    probe: str = "true",
) -> bool:
    """Plays a flow and prints a line a call; False where the runtime refuses one, or kubelet could
    not use a reply."""
    if flow == "pod" and not image and not _ours(target):
        raise Usage("--image: name an image with a shell that the runtime has or can pull")
    printer = _Printer(verbose)
    try:
        with _endpoint(target) as endpoint:
            click.echo("connect")
            with connect(endpoint, ready_s=_READY_S, observers=[printer]) as runtime:
                words = tuple(shlex.split(probe))
                stage = Stage(runtime, image or _SHELL, handler, host_network, words)
                steps = [_step(name, act) for name, act in STEPS[flow](stage)]
    except (EndpointError, ValueError) as error:
        raise Usage(str(error)) from error
    except Unreachable as error:
        raise TargetUnreachable(str(error)) from error
    return all(steps) and printer.content


def _step(name: str, act: Callable[[], object]) -> bool:
    """One step; why it failed on stderr. What it returns is told where it is a text."""
    click.echo(name)
    try:
        told = act()
    except Refused as refused:
        click.echo(f"{name}: refused: {one_line(str(refused))}", err=True)
        return False
    if isinstance(told, str):
        click.echo(f"  {told}")
    return True


Steps = Iterator[tuple[str, Callable[[], object]]]


def _pod(stage: Stage) -> Steps:
    """What was started is ended also where a step between has failed."""
    yield "start", lambda: _start(stage)
    if stage.pod:
        yield "sync", lambda: _seen(stage)
        yield "probe", lambda: _probe(stage)
        yield "kill", lambda: kill_pod(stage.runtime, _pod_of(stage).sandbox.id, _GRACE_S)
    yield "gc", lambda: collect(stage.runtime, NAMESPACE)


def _start(stage: Stage) -> None:
    sandbox = sandbox_config("pod", NAMESPACE, host_network=stage.host_network)
    container = container_config("main", stage.image, command=_COMMAND)
    stage.pod = start_pod(stage.runtime, sandbox, [container], stage.handler)


def _pod_of(stage: Stage) -> StartedPod:
    assert stage.pod
    return stage.pod


def _seen(stage: Stage) -> str:
    """One look at the pod, as after an event of it."""
    uid = _pod_of(stage).sandbox.metadata.uid
    pods = relist(stage.runtime, uid)
    if not (pods and pods[0].sandboxes):
        raise Refused(Code.NOT_FOUND, f"no sandbox has the label of pod {uid}")
    return f"pod {uid}: address {pods[0].sandboxes[0].network.ip or 'of the node'}"


def _probe(stage: Stage) -> str:
    passed = probe(stage.runtime, _pod_of(stage).containers["main"], stage.probe)
    return f"probe {shlex.join(stage.probe)}: {'success' if passed else 'failure'}"


def _start_up(stage: Stage) -> Steps:
    yield "start-up", lambda: _conditions(stage.runtime)


def _conditions(runtime: RemoteRuntime) -> str:
    conditions = start_up(runtime).conditions
    return ", ".join(f"{each.type} is {str(each.status).lower()}" for each in conditions)


def _sync(stage: Stage) -> Steps:
    yield "sync", lambda: f"{count(len(relist(stage.runtime)), 'pod')} with the labels of kubelet"


def _gc(stage: Stage) -> Steps:
    yield "gc", lambda: f"{count(len(collect(stage.runtime, NAMESPACE)), 'pod')} removed"


STEPS: dict[str, Callable[[Stage], Steps]] = {
    "pod": _pod,
    "start-up": _start_up,
    "sync": _sync,
    "gc": _gc,
}


def _ours(target: str) -> bool:
    return target.partition(":")[0] == "fake"


@contextlib.contextmanager
def _endpoint(target: str) -> Iterator[str]:
    """Where TARGET answers; our fake does so as long as the flow lasts."""
    if not _ours(target):
        yield target
        return
    from refimpl.cri.fake import FakeRuntime  # a real runtime does not pay for it

    fake = FakeRuntime(profile=target.partition(":")[2] or "strict")
    try:
        yield str(fake.start())
    finally:
        fake.stop()
