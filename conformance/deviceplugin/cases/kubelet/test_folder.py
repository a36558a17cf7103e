"""What a client makes of the folder where plugins register: sockets, checkpoint, place (DP-KUB)."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conformance.deviceplugin.watching import Watching
from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, together
from conformance.kubelet.node import NodeUnderTest
from refimpl.node.choices import KubeletChoices

SOCKET, CHECKPOINT = "kubelet.sock", "kubelet_internal_checkpoint"
RESTART, COUNTED, SAVED = Feature("restart"), Feature("capacity"), Feature("checkpoint")
START, SAVING = "kubelet: start", "kubelet: checkpoint of devices"


@case("DP-KUB-052", START, needs=[RESTART])
def test_a_start_clears_away_sockets_and_nothing_else(node: NodeUnderTest) -> None:
    """That its socket is gone tells a plugin to register again. Others keep files there, and the
    checkpoint has to outlive the kubelet that wrote it."""
    plugin = node.joined("a")
    node.client.end(kill=True)
    stale = _socket(node.own(node.plugins / "stale.sock"))
    file, folder = node.own(node.plugins / "notes"), node.own(node.plugins / "vendor")
    file.write_text("kept")
    folder.mkdir()
    (folder / "file").write_text("kept")
    kept = {path.name for path in node.plugins.iterdir() if not path.is_socket()}
    node.start()
    there = {path.name for path in node.plugins.iterdir()}
    with together() as check:
        with check:
            expect(
                not {stale.name, plugin.path.name} & there,
                "the sockets of plugins are removed when the client starts",
                wanted=f"neither {stale.name} nor {plugin.path.name}",
                got=sorted(there),
            )
        with check:
            expect(
                kept <= there and (folder / "file").exists(),
                "what is no socket stays",
                wanted=sorted(kept),
                got=sorted(there),
            )


@case("DP-KUB-053", START, needs=[RESTART])
def test_a_start_shows_first_the_end_of_sockets_and_then_kubelets_own(node: NodeUnderTest) -> None:
    """Some plugins wait for their socket to go, others for kubelet.sock to be created. The second
    kind registers at once: its socket must not be removed afterwards."""
    plugin = node.joined("a")
    node.client.end(kill=True)
    with Watching(node.plugins) as watching:
        node.start()
        node.until(
            lambda: ("created", SOCKET) in watching.seen, f"{SOCKET} is created in its place"
        )
        seen = watching.seen
    gone = ("deleted", plugin.path.name)
    expect(
        gone in seen and seen.index(gone) < seen.index(("created", SOCKET)),
        f"sockets are removed before {SOCKET} is created",
        wanted=f"{plugin.path.name} deleted, then {SOCKET} created",
        got=seen,
    )


@case("DP-KUB-057", SAVING, needs=[RESTART, SAVED, Feature("pods"), Feature("pod-resources")])
def test_a_checkpoint_that_is_broken_is_started_without(node: NodeUnderTest) -> None:
    """A node with a torn file has to come back. What the file says cannot be trusted in part, and
    is not: the pod that runs holds nothing any more."""
    with together() as check:
        for name, damage in _DAMAGES.items():
            plugin = node.joined("a", "b")
            pod = node.pods.running(limits={plugin.resource: 1})
            file = node.plugins / CHECKPOINT
            node.client.end(kill=True)
            file.write_bytes(damage(file.read_bytes()))
            node.start()
            node.until(
                lambda: any(each.name == pod.name for each in node.podresources.listed()),  # noqa: B023
                "the pod is known after the restart",
            )
            held = node.podresources.assigned(pod, plugin.resource)
            with check:
                expect(
                    not held,
                    f"nothing is taken from a checkpoint that is broken: {name}",
                    wanted="no device of the pod",
                    got=held,
                )
            node.join(node.plugin(plugin.resource), "a", "b")


@case("DP-KUB-058", SAVING, needs=[SAVED, Feature("pods")])
def test_a_checkpoint_that_cannot_be_written_fails_pods_and_not_lists(node: NodeUnderTest) -> None:
    """A full disk must not hide a device that broke. A pod whose devices are not on record would
    lose them with the next restart. Root may write anywhere, so a folder takes the file's place."""
    plugin = node.joined("a", "b")
    file = node.plugins / CHECKPOINT
    node.until(file.is_file, "the list is written to the checkpoint")
    node.until(lambda: _blocked(node.own(file)), "a folder takes the place of the checkpoint")
    plugin.send("a", "b", "c")
    node.until(
        lambda: node.podresources.allocatable(plugin.resource) == {"a", "b", "c"},
        "a list is taken in though it cannot be saved",
    )
    node.pods.refused(node.pods.run({plugin.resource: 1}))


def _blocked(file: Path) -> bool:
    """Puts a folder in the file's place, unless the client writes the file at that moment."""
    file.unlink(missing_ok=True)
    try:
        (file / "in the way").mkdir(parents=True)
    except (FileExistsError, NotADirectoryError):
        return False
    return True


@case("DP-KUB-059", SAVING, needs=[RESTART, SAVED, COUNTED])
def test_without_a_checkpoint_the_resources_of_the_node_are_none(node: NodeUnderTest) -> None:
    """The node is taken for a new one of that name; what the old one offered is not there. A new
    node's folder is empty: to kubelet, any file in it could be a checkpoint."""
    plugin = node.joined("a", "b")
    node.counted(plugin.resource, (2, 2), "the node offers the devices")
    node.client.end(kill=True)
    for path in node.plugins.iterdir():
        path.unlink()
    node.start()
    node.counted(plugin.resource, (0, 0), "a node that is taken for new offers no device")


@case("DP-KUB-064", START, needs=[RESTART])
def test_a_client_whose_socket_was_deleted_goes_on_with_those_it_knows(node: NodeUnderTest) -> None:
    """Somebody cleans the folder. To listen again would be better; kubelet does not, and is
    unreachable for new plugins until it restarts."""
    plugin, path = node.joined("a"), node.plugins / SOCKET
    path.unlink()
    plugin.send("a", "b")
    node.until(
        lambda: node.podresources.allocatable(plugin.resource) == {"a", "b"},
        "lists are taken in though the socket is gone",
    )
    node.stays(
        lambda: node.client.running() and len(node.podresources.allocatable(plugin.resource)) == 2,
        "the client goes on though its socket is gone",
        wanted="both devices",
    )
    if path.is_socket():
        node.joined("c")
    node.restart()
    node.joined("d")


@case("DP-KUB-074", "kubelet: end", needs=[RESTART])
def test_a_client_that_is_told_to_end_leaves_all_sockets_where_they_are(
    node: NodeUnderTest,
) -> None:
    """Plugins see their streams end and no more: nothing tells them that they must register until
    the next start."""
    plugin = node.joined("a")
    node.client.end()
    node.until(lambda: not plugin.streams, "the streams end with the client")
    left = {path.name for path in node.plugins.iterdir() if path.is_socket()}
    node.client.start()
    expect(
        {SOCKET, plugin.path.name} <= left,
        "no socket is removed at the end",
        wanted=f"{SOCKET} and {plugin.path.name}",
        got=sorted(left),
    )


@case("DP-KUB-075", START, needs=[RESTART, Feature("root-dir"), Feature("watcher")])
def test_the_root_directory_moves_all_but_the_folder_of_device_plugins(node: NodeUnderTest) -> None:
    """Device plugins have the path in their code, whatever --root-dir says; who looks for the other
    sockets has to be told."""
    node.configured(KubeletChoices(root="elsewhere"))
    pushed = node.joined("a", "b")
    watched = node.plugin(watched=True)
    expect(
        (pushed.path.parent, watched.path.parent.parent)
        == (node.client.folder / "device-plugins", node.client.folder / "elsewhere"),
        "the case looks where it means to",
        wanted="device-plugins in its place, plugins_registry moved",
        got=f"{pushed.path}, {watched.path}",
    )
    node.join(watched, "c")
    served = [Path(node.podresources.endpoint.path)]
    if "pods-api" in node.client.able and node.since("1.37"):
        served.append(node.client.root / "pods-api" / "pods-api.sock")
    expect(
        all(path.is_socket() for path in served),
        "what is served to the node moves with the root directory",
        wanted=served,
        got=[path for path in served if path.is_socket()],
    )


def _socket(path: Path) -> Path:
    """A socket that nobody serves any more."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    return path


def _damage(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def damaged(content: bytes) -> bytes:
        parsed = json.loads(content)
        change(parsed)
        return json.dumps(parsed).encode()

    return damaged


def _flatten(content: dict[str, Any]) -> None:
    for entry in content["Data"]["PodDeviceEntries"]:
        by_node = entry["DeviceIDs"]
        entry["DeviceIDs"] = [id for ids in by_node.values() for id in ids]


_DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "it was cut": lambda content: content[: len(content) // 2],
    "its checksum is another": _damage(
        lambda content: content.update(Checksum=(content["Checksum"] + 1) % 2**32)
    ),
    "it has the form of before 1.20": _damage(_flatten),
}
