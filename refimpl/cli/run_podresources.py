"""The flows of `refimpl run podresources`: what a node agent asks a kubelet."""

from __future__ import annotations

from collections.abc import Iterator

import click

from refimpl.cli.errors import TargetUnreachable, Usage
from refimpl.deviceplugin.lister import Devices, PodResourcesClient, devices_of
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.status import Refused

__all__ = ["play"]


def play(target: str, flow: str, *, verbose: bool = False) -> bool:
    """Plays a flow at the socket and prints a line a device; False if kubelet refuses."""
    try:
        with PodResourcesClient(Endpoint.parse(target)) as client:
            lines = _pods(client, verbose) if flow == "list" else _allocatable(client)
            for line in lines:
                click.echo(line)
    except EndpointError as error:
        raise Usage(str(error)) from error
    except Unreachable as error:
        raise TargetUnreachable(str(error)) from error
    except Refused as refused:
        click.echo(f"refused: {refused}", err=True)
        return False
    return True


def _pods(client: PodResourcesClient, verbose: bool) -> Iterator[str]:
    """`verbose`: containers without devices, too."""
    for pod in client.pods():
        for container in pod.containers:
            whom = f"{pod.namespace}/{pod.name} {container.name}"
            lines = [f"{whom}  {line}" for line in _devices(devices_of(container.devices))]
            yield from lines or ([f"{whom}  no device"] if verbose else ())


def _allocatable(client: PodResourcesClient) -> Iterator[str]:
    reply = client.allocatable()
    yield from _devices(devices_of(reply.devices))
    if reply.cpu_ids:
        yield f"cpu  {','.join(map(str, sorted(reply.cpu_ids)))}"


def _devices(held: Devices) -> Iterator[str]:
    for resource, devices in sorted(held.items()):
        for id, nodes in sorted(devices.items()):
            where = f"  NUMA {','.join(map(str, sorted(nodes)))}" if nodes else ""
            yield f"{resource}  {id}{where}"
