"""The checkpoint file of a real kubelet and of ours: each starts from the other's."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.engine.targets.revision import Revision
from conformance.kubelet.client import Client
from conformance.kubelet.node import NodeUnderTest
from conformance.kubelet.ours import OurKubelet
from conformance.kubelet.real import RealKubelet
from refimpl.deviceplugin.devicemanager import checkpoint_file
from refimpl.deviceplugin.state.checkpoint import FILE_NAME
from refimpl.node.pods import PodSpec
from refimpl.wire.journal import Journal
from tests.live.peers import kubelet_command
from tests.live.rigs.namespaces import why_not

NEWEST = Revision("kubernetes", "1.37")

pytestmark = pytest.mark.timeout(300)

GPU = "example.com/gpu"


@pytest.fixture
def clients(kubernetes: Path) -> Iterator[Callable[[str], Client]]:
    """Makes `real` ones and `ours`."""
    if reason := why_not():
        pytest.skip(reason)
    made: list[Client] = []

    def make(kind: str) -> Client:
        ours = kind == "ours"
        made.append(OurKubelet("1.37") if ours else RealKubelet(kubelet_command(kubernetes)))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.mark.parametrize(("writer", "reader"), [("real", "ours"), ("ours", "real")])
def test_a_pod_keeps_its_device_over_the_change_of_kubelet(
    clients: Callable[[str], Client], writer: str, reader: str
) -> None:
    """What one has allocated the other does not give away, and the resource is there before its
    plugin is; a kubelet that did not believe the file would know of neither."""
    first, second = clients(writer), clients(reader)
    pod, held = _allocated(first)
    first.end()
    written = first.folder / "device-plugins" / FILE_NAME
    saved = checkpoint_file.read(written)
    assert saved is not None
    assert [(record.pod, record.ids) for record in saved.records] == [(pod.uid, frozenset(held))]
    place = second.folder / "device-plugins"
    place.mkdir(exist_ok=True)
    shutil.copy(written, place)
    second.start()
    node = NodeUnderTest(second, Journal(), NEWEST, name="second", quiet_s=0.2)
    node.counted(GPU, (0, 0), "the resource is known from the file")
    node.clean_up()


def _allocated(client: Client) -> tuple[PodSpec, set[str]]:
    client.start()
    node = NodeUnderTest(client, Journal(), NEWEST, name="first", quiet_s=0.2)
    plugin = node.join(node.plugin(GPU), "a", "b")
    pod = node.pods.running(limits={GPU: 1})
    held = node.podresources.assigned(pod, GPU)
    assert plugin.allocated() == [tuple(held)]
    return pod, held
