"""`refimpl serve`: a fake of one interface, until it is interrupted."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

import click

from conformance.engine.interface import load
from conformance.engine.interfaces import INTERFACES
from refimpl.cli import serve_registry
from refimpl.cli.errors import Usage
from refimpl.cli.foreground import (
    interruption,
    loaded_faults,
    opened_journal,
    recorded_options,
    refusals,
    shared_options,
)

if TYPE_CHECKING:
    from refimpl.wire.endpoint import Endpoint

# As in refimpl.deviceplugin and refimpl.cri, which are imported when the command runs: a test holds
# them together.
WAYS = ("push", "pull", "both")
CRI_PROFILES = ("strict", "containerd", "crio", "legacy-1.7")
CRI_MODELS = ("virtual", "subprocess", "oci")
PERSONAS = (
    *("healthy", "flapping", "slow", "lying", "dying"),
    *("many", "topology", "cdi", "annotations", "mounts"),
)


class Served(Protocol):
    """A fake of any interface."""

    @property
    def endpoint(self) -> Endpoint:
        """Where it serves."""

    def start(self) -> Endpoint:
        """Serves."""

    def stop(self, grace_s: float = 1.0) -> None:
        """Ends, and removes what it made."""


EPILOG = """\b
Examples:
  refimpl serve csi unix:///tmp/csi.sock
  refimpl serve deviceplugin --resource example.com/gpu=8 --dir /var/lib/kubelet
  refimpl serve kubelet --dir /tmp/kubelet --control /tmp/ctl.sock
  refimpl serve cri unix:///tmp/cri.sock
  refimpl serve registry --port 5000
  refimpl serve csi /tmp/csi.sock --control /tmp/ctl.sock
  curl --unix-socket /tmp/ctl.sock http://refimpl/journal
"""


@click.group(epilog=EPILOG, subcommand_metavar="IFACE ...")
def command() -> None:
    """Run the fake of IFACE until SIGINT or SIGTERM.

    Prints one line, "ready ENDPOINT", when it answers, and leaves no socket, process or mount
    behind.
    """


@command.command(
    epilog="""\b
Examples:
  refimpl serve csi unix:///tmp/csi.sock
  refimpl serve csi /tmp/csi.sock --profile topology --nodes 3
  refimpl serve csi /tmp/controller.sock --split     node at controller-0.sock
  refimpl serve csi /tmp/csi.sock --register /var/lib/kubelet/plugins_registry
  refimpl serve csi /tmp/csi.sock --targets-below /var/lib/kubelet
  refimpl serve csi /tmp/csi.sock --without EXPAND_VOLUME --set attach_limit=2
  refimpl serve csi /tmp/csi.sock --faults faults.yaml --journal calls.jsonl
"""
)
@click.argument("endpoint")
@click.option("--profile", help="Named set of choices.  [default: default]")
@click.option("--revision", help="Revision of the interface, such as 1.12.  [default: newest]")
@click.option("--nodes", type=click.IntRange(min=1), help="How many nodes.  [default: 1]")
@click.option("--split", is_flag=True, help="The first node at a socket of its own, too.")
@click.option(
    "--register",
    metavar="DIR",
    help="plugins_registry of the kubelet that is to find it.  [default: nowhere]",
)
@click.option("--state-dir", metavar="DIR", help="Remember over a restart.  [default: forget]")
@click.option(
    "--targets-below",
    metavar="DIR",
    help="Refuse targets and staging paths elsewhere.  [default: anywhere]",
)
@click.option(
    "--without", metavar="CAP", multiple=True, help="Leave a capability out (repeatable)."
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Change one setting of the profile (repeatable).",
)
@shared_options
def csi(endpoint: str, settings: tuple[str, ...], **choices: Any) -> None:
    """Run a CSI driver at ENDPOINT: unix:///path, a path, or tcp://127.0.0.1:port (0: any)."""
    if settings:
        choices["settings"] = dict(_setting(text) for text in settings)
    refused = load("refimpl.csi.persist:StateError"), load("refimpl.wire.status:Refused")
    # A registry that cannot be made is an OSError.
    _serve("csi", "csi", endpoint, refused=(*refused, OSError), **choices)


@command.command(
    epilog="""\b
Examples:
  refimpl serve deviceplugin --resource example.com/gpu=8 --dir /var/lib/kubelet
  refimpl serve deviceplugin --resource example.com/gpu --dir DIR --persona topology
  refimpl serve deviceplugin --resource example.com/gpu --dir DIR --control /tmp/ctl.sock
  curl --unix-socket /tmp/ctl.sock http://refimpl/health -d '{"id":"gpu-0","health":"Unhealthy"}'
"""
)
@click.option(
    "--resource",
    metavar="NAME[=COUNT]",
    required=True,
    help="Resource and how many devices.  [default: as many as the persona has]",
)
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    required=True,
    help="Kubelet's folder, with device-plugins and plugins_registry in it.",
)
@click.option("--persona", type=click.Choice(PERSONAS), help="How it behaves.  [default: healthy]")
@click.option("--register", type=click.Choice(WAYS), help="By whom it is begun.  [default: push]")
@click.option("--registry", metavar="DIR", help="plugins_registry, where it lies elsewhere.")
@click.option("--cdi-dir", metavar="DIR", help="Write a CDI file of the devices there.")
@recorded_options
def deviceplugin(resource: str, **choices: Any) -> None:
    """Run a device plugin that registers with the kubelet of DIR, now and whenever it restarts.

    It is ready when it serves; GET /registration of --control tells whether it is registered.
    """
    name, devices = _counted(resource)
    # Directories that cannot be made, a CDI file that cannot be written.
    _serve("deviceplugin", "deviceplugin", name, devices, refused=(OSError,), **choices)


@command.command(
    epilog="""\b
Examples:
  refimpl serve kubelet --dir /tmp/kubelet --control /tmp/ctl.sock
  my-plugin --plugin-directory /tmp/kubelet/device-plugins
  curl --unix-socket /tmp/ctl.sock http://refimpl/node
  curl --unix-socket /tmp/ctl.sock http://refimpl/pods -d '{"uid":"p1",
    "containers":[{"name":"main","limits":{"example.com/gpu":1}}]}'
  curl --unix-socket /tmp/ctl.sock http://refimpl/restart -d '{"mode":"A"}'
"""
)
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    required=True,
    help="Stands for /var/lib/kubelet; sockets of plugins in it are removed, as kubelet does.",
)
@click.option("--profile", metavar="NAME", help="Kubernetes release, 1.27 to 1.37.  [1.37]")
@click.option("--nodes", type=click.IntRange(min=1), help="NUMA nodes.  [1]")
@click.option("--policy", metavar="NAME", help="Topology manager's, such as restricted.  [none]")
@click.option("--scope", type=click.Choice(["container", "pod"]), help="Its scope.  [container]")
@recorded_options
def kubelet(folder: str, **choices: Any) -> None:
    """Run the device manager of a kubelet over DIR, for device plugins to register with.

    Pods, restarts and what it knows are at --control.
    """
    # Directories that cannot be made, sockets whose path is too long.
    _serve("deviceplugin", "kubelet", folder, refused=(OSError,), **choices)


@command.command(
    epilog="""\b
Examples:
  refimpl serve cri unix:///tmp/cri.sock
  refimpl serve cri /tmp/cri.sock --profile crio --handler kata
  refimpl serve cri /tmp/cri.sock --set sandboxes.duplicate=existing
  refimpl serve cri /tmp/cri.sock --control /tmp/ctl.sock
  curl --unix-socket /tmp/ctl.sock http://refimpl/exit -d '{"container_id":"4f1","status":1}'
  crictl -r unix:///tmp/cri.sock pull example.com/app:1
"""
)
@click.argument("endpoint")
@click.option(
    "--profile", type=click.Choice(CRI_PROFILES), help="Whose ways it has.  [default: strict]"
)
@click.option("--model", type=click.Choice(CRI_MODELS), help="What runs.  [default: virtual]")
@click.option(
    "--model-option",
    "model_options",
    metavar="NAME=VALUE",
    multiple=True,
    help="Of the model alone (repeatable).",
)
@click.option("--state-dir", metavar="DIR", help="Where the model keeps what it has.")
@click.option(
    "--handler",
    "handlers",
    metavar="NAME",
    multiple=True,
    help="A runtime handler besides the default one (repeatable).",
)
@click.option(
    "--image",
    "images",
    metavar="NAME",
    multiple=True,
    help="An image that is there without a pull (repeatable).",
)
@click.option(
    "--set",
    "settings",
    metavar="TOPIC.NAME=VALUE",
    multiple=True,
    help="Change one setting of the profile (repeatable).",
)
@shared_options
def cri(
    endpoint: str, settings: tuple[str, ...], model_options: tuple[str, ...], **choices: Any
) -> None:
    """Run a container runtime at ENDPOINT: unix:///path, a path, or tcp://127.0.0.1:port (0: any).

    POST /exit, /reboot and /ready of --control say what happens to it by itself.
    """
    if settings:
        choices["settings"] = dict(_setting(text) for text in settings)
    if model_options:
        choices["model_options"] = dict(_setting(text, "--model-option") for text in model_options)
    refused = load("refimpl.wire.status:Refused")  # of an image whose name is none
    _serve("cri", "cri", endpoint, refused=(refused, OSError), **choices)


command.add_command(serve_registry.command)


def _serve(
    interface: str,
    fake: str,
    *arguments: object,
    refused: tuple[type[Exception], ...],
    faults_file: str | None,
    journal_file: str | None,
    **choices: Any,
) -> None:
    """Runs a fake of an interface; `refused` is what it raises, besides ValueError, where the user
    asked for too much."""
    settings = {name: value for name, value in choices.items() if value not in (None, (), False)}
    with interruption() as wait, ExitStack() as stack:
        journal = opened_journal(journal_file)
        stack.callback(journal.close)
        faults = loaded_faults(faults_file, journal)
        with refusals(ValueError, *refused):
            kind = load(INTERFACES[interface].fakes[fake])
            server: Served = kind(*arguments, faults=faults, journal=journal, **settings)
            # A runtime that is stopped keeps its containers.
            stack.callback(getattr(server, "close", server.stop))
            server.start()
        click.echo(f"ready {server.endpoint}")
        wait()


def _setting(text: str, option: str = "--set") -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise Usage(f"{option} {text}: write NAME=VALUE")
    return name, value


def _counted(text: str) -> tuple[str, int | None]:
    name, equals, count = text.partition("=")
    if not name or (equals and not count.isdecimal()):
        raise Usage(f"--resource {text}: write NAME=COUNT, such as example.com/gpu=8, or NAME")
    return name, int(count) if equals else None
