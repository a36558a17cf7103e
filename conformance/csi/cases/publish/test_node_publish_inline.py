"""Inline volumes: kubelet brings them along with NodePublishVolume and takes them with the pod."""

from __future__ import annotations

import hashlib

from conformance.csi.common import content
from conformance.csi.common.published import expect_gone, publish
from conformance.csi.needs import EPHEMERAL, KINDS, NODE
from conformance.csi.steps import Mounted
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.csi.api import csi_pb2 as pb

_K8S = "csi.storage.k8s.io"


@case("CSI-NPUB-026", "Kubernetes 1.37 kubelet", needs=[NODE, KINDS, EPHEMERAL])
def test_an_inline_volume_lives_as_long_as_it_is_published(csi: CsiTarget) -> None:
    """Nobody else ever deletes such a volume: what the driver leaves behind fills the node, and a
    pod that gets the leftovers of another reads its secrets."""
    assert csi.paths is not None
    mounted = _inline(csi)
    publish(csi, mounted)
    kind = csi.paths.kind(mounted.target_path)
    rule = "NodePublishVolume makes an inline volume whose id nobody has heard of before"
    with together() as check:
        with check:
            expect(kind == "directory", rule, wanted="a directory at the target", got=kind)
        written = content.fresh()
        kept = csi.paths.visible and content.write_error(mounted, written) is None
        csi.steps.unmount(mounted)
        rule = "NodeUnpublishVolume of an inline volume leaves nothing at its target"
        with check:
            expect_gone(csi, mounted.target_path, rule)
        publish(csi, mounted)
        if kept:
            text = content.read(mounted, len(written))
            rule = "what an inline volume held is gone with its publication"
            with check:
                expect(text != written, rule, wanted="an empty volume", got=text)


def _inline(csi: CsiTarget) -> Mounted:
    """What kubelet asks for a pod with an inline volume, which is neither attached nor staged."""
    digest = hashlib.sha256(csi.requests.fresh_name("pod").encode()).hexdigest()
    volume = pb.Volume(volume_id=f"csi-{digest}", volume_context=csi.settings.volume_context)
    pod = {"pod.name": "web-0", "pod.namespace": "default", "ephemeral": "true"}
    volume.volume_context.update({f"{_K8S}/{key}": value for key, value in pod.items()})
    target = csi.steps.target_path()
    request = csi.requests.node_publish(
        volume, target, capability=csi.requests.capability(block=False)
    )
    return Mounted(volume, target, "", {}, request)
