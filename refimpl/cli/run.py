"""`refimpl run`: the calling side of an interface, played against a target and printed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import click

from refimpl.cli.errors import Usage

FLOWS = {
    "cri": {
        "pod": "start, sync, probe, kill and GC of a pod with one container, as kubelet does them",
        "start-up": "what kubelet asks before its node can be ready",
        "sync": "one look at all pods and containers, and at each that bears kubelet's labels",
        "gc": "kill and removal of what earlier flows have left",
    },
    "cni": {
        "pod": "add, check, status and del of a pod's sandbox, as its runtime does them",
        "add": "ADD of every network",
        "check": "CHECK of every network",
        "status": "STATUS of every network",
        "del": "DEL of every network",
        "gc": "DEL of stale attachments, then GC of every network",
    },
    "podresources": {
        "list": "List: the devices of every container",
        "allocatable": "GetAllocatableResources: all healthy devices",
    },
}
"""Interface to flow to what it does, in the order of `--list`."""

PLAYERS = {
    "cri": "refimpl.cli.run_cri:play",
    "cni": "refimpl.cli.run_cni:play",
    "podresources": "refimpl.cli.run_podresources:play",
}
"""Interface to the function that plays its flows: play(target, flow, echo, **options) -> bool."""

OF_CRI = ("image", "handler", "host_network", "probe")
"""Options of cri; those that no interface has here are cni's."""

EPILOG = """\b
Examples:
  refimpl run cri fake --flow pod                       our fake, or fake:crio
  refimpl run cri /run/containerd/containerd.sock --flow pod --image example.com/shell:1
  refimpl run cni 10-net.conflist --flow pod            in namespaces that are gone afterwards
  refimpl run cni 10-net.conflist --flow pod --profile go-cni -v
  refimpl run cni /etc/cni/net.d --flow add --netns /run/netns/x --cni-path /opt/cni/bin
  refimpl run podresources /var/lib/kubelet/pod-resources/kubelet.sock --flow list
  refimpl run --list
"""


@click.command(epilog=EPILOG)
@click.argument("interface", metavar="IFACE", type=click.Choice(list(FLOWS)), required=False)
@click.argument("target", required=False)
@click.option("--flow", metavar="NAME", help="What to play; --list names the flows.")
@click.option("--list", "list_flows", is_flag=True, help="Name the flows and end.")
@click.option("-v", "--verbose", is_flag=True, help="Print environments and documents, too.")
@click.option("--image", metavar="NAME", help="Image with a shell, of the container (pod of cri).")
@click.option("--handler", metavar="NAME", help="Handler of a RuntimeClass (pod of cri).")
@click.option("--host-network", is_flag=True, default=None, help="No network (pod of cri).")
@click.option("--probe", metavar="COMMAND", help="Exec probe (pod of cri).  [true]")
@click.option("--profile", metavar="NAME", help="Which runtime to play.  [strict]")
@click.option("--cni-path", metavar="DIRS", help="Where plugins are.  [$CNI_PATH, /opt/cni/bin]")
@click.option("--cache-dir", metavar="DIR", help="What is kept between flows.  [/var/lib/cni]")
@click.option("--container-id", metavar="ID", help="[made from the namespace, as cnitool does]")
@click.option("--netns", metavar="PATH", help="The namespace.  [one that is gone afterwards]")
@click.option("--ifname", metavar="NAME", help="First interface inside (not in pod).  [eth0]")
@click.option("--args", metavar="K=V;K=V", help="CNI_ARGS (not in pod).")
@click.option("--cap-args", metavar="JSON", help="Capability to payload (not in pod).")
@click.option("--valid", metavar="ID/IFNAME", multiple=True, help="gc keeps it.  [all known]")
def command(
    interface: str | None,
    target: str | None,
    flow: str | None,
    list_flows: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Play the calling side of IFACE (cri, cni, podresources) against TARGET and print what comes.

    TARGET of cri is a runtime's socket, or fake; of cni a network configuration, or a folder of
    them; of podresources a kubelet's socket. Exit code 0: all went well, 1: a plugin failed, a
    runtime or kubelet refused, 4: the flow cannot be played like this, 6: nobody answers.
    """
    if list_flows:
        _list([interface] if interface else list(FLOWS))
        return 0
    if not (interface and target):
        raise Usage("name the interface and its target, such as: run cni net.conflist --flow pod")
    if flow not in FLOWS[interface]:
        raise Usage(f"--flow {flow or '(none)'}: choose one of {', '.join(FLOWS[interface])}")
    chosen = {name: value for name, value in options.items() if value not in (None, ())}
    for name in chosen:
        if (owner := "cri" if name in OF_CRI else "cni") != interface:
            raise Usage(f"--{name.replace('_', '-')}: an option of {owner}")
    return 0 if _player(interface)(target, flow, verbose=verbose, **chosen) else 1


def _list(interfaces: list[str]) -> None:
    for interface in interfaces:
        for name, text in FLOWS[interface].items():
            click.echo(f"{interface}  {name:<8} {text}")


def _player(interface: str) -> Callable[..., bool]:
    module, _, name = PLAYERS[interface].partition(":")
    player: Callable[..., bool] = getattr(importlib.import_module(module), name)
    return player
