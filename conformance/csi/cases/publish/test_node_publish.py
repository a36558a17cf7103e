"""NodePublishVolume: what it asks for, what it bears, and that asking again changes nothing."""

from __future__ import annotations

import json
from functools import partial

from conformance.csi.common import mounts
from conformance.csi.common.copies import access_types
from conformance.csi.common.published import changed, publish, ready_as
from conformance.csi.common.uses import all_modes, described, other_type
from conformance.csi.needs import MOUNTS, NODE, SAME_HOST, STAGE_UNSTAGE_VOLUME, VOLUMES
from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 NodePublishVolume"
_KUBELET = "Kubernetes 1.37 kubelet"
_VOLUME = (NODE, VOLUMES, SAME_HOST)
_K8S = "csi.storage.k8s.io"
_TOKENS = f"{_K8S}/serviceAccount.tokens"
_REPEATS = 2
# Beside the usual mode; the first that a volume can be made for as well is used.
_OTHERS = (Mode.SINGLE_NODE_READER_ONLY, Mode.MULTI_NODE_MULTI_WRITER, Mode.MULTI_NODE_READER_ONLY)


@case("CSI-NPUB-001", _SOURCE, needs=_VOLUME)
def test_a_publish_without_its_fields_is_refused(csi: CsiTarget) -> None:
    """A driver that fills in what is missing mounts something, somewhere, for somebody."""
    mounted = csi.shared.mount()
    with together() as check:
        for field in ("volume_id", "target_path", "volume_capability"):
            with check:
                lacking = pb.NodePublishVolumeRequest()
                lacking.CopyFrom(mounted.request)
                lacking.ClearField(field)
                expect_status(
                    partial(csi.node.NodePublishVolume, lacking),
                    {Code.INVALID_ARGUMENT},
                    f"NodePublishVolume without {field} is refused",
                )


@case("CSI-NPUB-002", _SOURCE, needs=[*_VOLUME, STAGE_UNSTAGE_VOLUME])
def test_a_driver_that_stages_wants_to_be_told_where(csi: CsiTarget) -> None:
    """The pod would get whatever the driver finds, or an empty directory of the node's own disk."""
    mounted = changed(csi.steps.ready(), staging_target_path="")
    expect_status(
        lambda: csi.node.NodePublishVolume(mounted.request),
        {Code.FAILED_PRECONDITION},
        "NodePublishVolume without staging_target_path, of a driver with STAGE_UNSTAGE_VOLUME, is"
        " refused",
    )


@case("CSI-NPUB-003", _SOURCE, needs=[*_VOLUME, STAGE_UNSTAGE_VOLUME])
def test_a_volume_that_was_not_staged_is_not_published(csi: CsiTarget) -> None:
    """After a reboot kubelet may be wrong about what is staged; with an OK the pod writes into the
    empty staging directory of the node, and its data is gone with the next mount."""
    volume = csi.steps.volume()
    request = csi.requests.node_publish(
        volume,
        csi.steps.target_path(),
        staging_path=csi.steps.staging_path(),
        publish_context=csi.steps.attach(volume),
    )
    expect_status(
        lambda: csi.node.NodePublishVolume(request),
        {Code.FAILED_PRECONDITION},
        "NodePublishVolume from a path where the volume was never staged is refused",
    )


@case("CSI-NPUB-004", _SOURCE, needs=_VOLUME)
def test_a_volume_that_does_not_exist_is_not_published(csi: CsiTarget) -> None:
    """A pod whose volume was deleted must not start with an empty directory in its place. All but
    the id is as for a volume that does exist."""
    request = changed(csi.shared.mount(), target_path=csi.steps.target_path()).request
    request.volume_id = csi.requests.unknown_volume_id()
    expect_status(
        lambda: csi.node.NodePublishVolume(request),
        {Code.NOT_FOUND},
        "NodePublishVolume of a volume that does not exist is refused",
    )


@case("CSI-NPUB-005", _SOURCE, needs=_VOLUME)
def test_a_repeated_publish_mounts_once(csi: CsiTarget) -> None:
    """Kubelet asks again after every restart. Mounts that pile up slow down the node, and the one
    unmount of the pod's end leaves the volume in use for ever."""
    visible = csi.has(MOUNTS)
    mounted = csi.shared.mount()
    for _ in range(_REPEATS):
        publish(csi, mounted)
    if visible:
        seen = mounts.layers(mounted.target_path)
        rule = f"the same NodePublishVolume, sent {_REPEATS + 1} times, makes one mount"
        expect(seen == 1, rule, wanted=1, got=seen)


@case("CSI-NPUB-006", _SOURCE, needs=_VOLUME)
def test_a_published_volume_does_not_change_its_readonly_flag(csi: CsiTarget) -> None:
    """An OK tells kubelet that the pod cannot write, or can, and neither is true."""
    with together() as check:
        for readonly in (False, True):
            mounted = csi.steps.mount(readonly=readonly)
            flipped = changed(mounted, readonly=not readonly)
            with check:
                expect_status(
                    partial(csi.node.NodePublishVolume, flipped.request),
                    {Code.ALREADY_EXISTS},
                    f"a volume published with readonly = {readonly} is not published at the same"
                    f" target with readonly = {not readonly}",
                )
            csi.steps.withdraw(mounted)


@case("CSI-NPUB-007", _SOURCE, needs=_VOLUME)
def test_a_published_volume_does_not_change_its_use(csi: CsiTarget) -> None:
    """An OK would promise a use that the mount was not made for.

    The other access type may also be refused as none that this volume has (CSI-NPUB-027)."""
    usual = csi.requests.capability()
    known = [mode for mode in all_modes(csi) if mode in _OTHERS and mode != usual.access_mode.mode]
    also = next(
        (mode for mode in known if csi.preconditions.makes(usual.access_mode.mode, mode)), None
    )
    made_for = [usual] if also is None else [usual, csi.requests.capability(also)]
    mounted = csi.steps.mount(csi.steps.volume(csi.requests.volume(capabilities=made_for)))
    with together() as check:
        for other in [other_type(csi), *made_for[1:]]:
            with check:
                wrong_type = other.WhichOneof("access_type") != usual.WhichOneof("access_type")
                second = changed(mounted, volume_capability=other)
                expect_status(
                    partial(csi.node.NodePublishVolume, second.request),
                    {Code.ALREADY_EXISTS, Code.FAILED_PRECONDITION}
                    | ({Code.INVALID_ARGUMENT} if wrong_type else set()),
                    f"a volume published as {described(usual)} is not published at the same target"
                    f" as {described(other)}",
                )


@case("CSI-NPUB-008", _SOURCE, needs=_VOLUME)
def test_other_secrets_do_not_make_another_publish(csi: CsiTarget) -> None:
    """Secrets are rotated while pods run; they say who asks, not what is asked for."""
    mounted = csi.shared.mount()
    renewed = {**mounted.request.secrets, "refimpl-unknown": "renewed"}
    second = changed(mounted, secrets=renewed)
    expect_status(
        lambda: csi.node.NodePublishVolume(second.request),
        {Code.OK},
        "NodePublishVolume repeated with other secrets is answered as before",
    )


@case("CSI-NPUB-009", _KUBELET, needs=_VOLUME)
def test_a_repeated_publish_may_bring_fresh_tokens(csi: CsiTarget) -> None:
    """For a driver with requiresRepublish, kubelet sends a new token of the pod to the same target
    every few minutes; with a refusal the pod goes on with one that expires."""
    first = csi.steps.ready()
    context = dict(first.request.volume_context)
    with together() as check:
        for number in range(2):
            with check:
                token = {"token": f"t{number}", "expirationTimestamp": "2030-01-01T00:00:00Z"}
                tokens = json.dumps({"refimpl": token})
                mounted = changed(first, volume_context={**context, _TOKENS: tokens})
                expect_status(
                    partial(csi.node.NodePublishVolume, mounted.request),
                    {Code.OK},
                    f"NodePublishVolume with token {number + 1} in the context is done",
                )


@case("CSI-NPUB-025", _KUBELET, needs=_VOLUME)
def test_entries_that_kubernetes_adds_to_the_context_are_borne(csi: CsiTarget) -> None:
    """Provisioner and kubelet write their own entries beside the driver's; a driver that insists
    on its own set alone can mount nothing in a cluster."""
    mounted = csi.steps.ready()
    added = {
        f"{_K8S}/pod.name": "web-0",
        f"{_K8S}/pod.namespace": "default",
        f"{_K8S}/pod.uid": "11111111-2222-3333-4444-555555555555",
        f"{_K8S}/serviceAccount.name": "default",
        f"{_K8S}/ephemeral": "false",
        "storage.kubernetes.io/csiProvisionerIdentity": "1700000000000-8081-driver",
        "refimpl.example/unknown": "x",
    }
    request = changed(mounted, volume_context={**mounted.request.volume_context, **added}).request
    expect_status(
        lambda: csi.node.NodePublishVolume(request),
        {Code.OK},
        f"NodePublishVolume bears {', '.join(added)} in volume_context",
    )


@case("CSI-NPUB-027", _SOURCE, needs=_VOLUME)
def test_a_volume_is_not_published_as_the_other_access_type(csi: CsiTarget) -> None:
    """A pod that wants a disk must not get a directory, nor one that wants files a raw device."""
    with together() as check:
        for block in access_types(csi):
            mounted = ready_as(csi, block=block)
            other = csi.requests.capability(block=not block)
            request = changed(mounted, volume_capability=other).request
            with check:
                expect_status(
                    partial(csi.node.NodePublishVolume, request),
                    {Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION},
                    f"a volume for {'block' if block else 'mount'} is not published as"
                    f" {described(other)}",
                )
            csi.steps.withdraw(mounted)
